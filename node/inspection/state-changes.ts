// The difference between two JSON values, as the pointers at which they differ (RFC 6901).

import { isObject } from "../../std/is-object.ts";
import { joinPointer } from "../../std/json-pointer.ts";

export interface Change {
  readonly pointer: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** Maximum number of changes that are listed. */
const changesMax = 500;

export function changesBetween(
  before: unknown,
  after: unknown,
): { readonly changes: readonly Change[]; readonly is_complete: boolean } {
  const changes: Change[] = [];
  compare(before, after, "", changes);
  return { changes: changes.slice(0, changesMax), is_complete: changes.length <= changesMax };
}

function compare(before: unknown, after: unknown, pointer: string, changes: Change[]): void {
  if (Object.is(before, after) || changes.length > changesMax) return;
  const [one, other] = [membersOf(before), membersOf(after)];
  if (one === null || other === null || Array.isArray(before) !== Array.isArray(after)) {
    if (before === undefined) changes.push({ pointer, after });
    else if (after === undefined) changes.push({ pointer, before });
    else changes.push({ pointer, before, after });
    return;
  }
  for (const name of new Set([...one.keys(), ...other.keys()]))
    compare(one.get(name), other.get(name), joinPointer(pointer, name), changes);
}

/** The members of an object or an array by name; null for any other value. */
function membersOf(value: unknown): ReadonlyMap<string, unknown> | null {
  if (Array.isArray(value)) return new Map(value.map((item, index) => [String(index), item]));
  return isObject(value) ? new Map(Object.entries(value)) : null;
}
