// What a business's system reads of its own data, page by page: its catalogue, and what became of what it sent.

import type { PushAttempt } from "../../protocol/wire/attempts.ts";
import type { CatalogueEntry } from "../../protocol/wire/catalogue.ts";
import type { World } from "../world/world.ts";
import type { SentBatch } from "./batch.ts";
import type { Heard } from "./client.ts";

/** Requests one page of a list. */
export type ReadPage = (route: "catalogue" | "attempts", cursor: string) => Promise<Heard | null>;

/** More pages than any list of a world has. */
const pagesMax = 2_000;

export async function readCatalogue(read: ReadPage): Promise<readonly CatalogueEntry[] | null> {
  return readList(read, "catalogue", (body) => (body as { entries: readonly CatalogueEntry[] }).entries);
}

export async function readAttempts(read: ReadPage): Promise<readonly PushAttempt[] | null> {
  return readList(read, "attempts", (body) => (body as { attempts: readonly PushAttempt[] }).attempts);
}

/** Null if a page was not answered. */
async function readList<T>(
  read: ReadPage,
  route: "catalogue" | "attempts",
  itemsOf: (body: unknown) => readonly T[],
): Promise<readonly T[] | null> {
  const all: T[] = [];
  let cursor = "";
  for (let page = 0; page < pagesMax; page += 1) {
    const heard = await read(route, cursor);
    if (heard === null || heard.status !== 200) return null;
    all.push(...itemsOf(heard.body));
    const next = (heard.body as { next_cursor: string | null }).next_cursor;
    if (next === null) return all;
    cursor = next;
  }
  throw new Error(`The list ${route} does not end.`);
}

/** Whatever happens meanwhile, a record is listed once. `entries` is null if somebody did not answer. */
export function checkCatalogue({ observed }: World, entries: readonly CatalogueEntry[] | null): void {
  if (entries === null) return;
  const ids = entries.map((each) => each.record_id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) observed.violate("listed-once", `${twice} is in the catalogue twice`);
}

/** Whatever happens meanwhile, an attempt is listed once, and what was acknowledged before is complete. */
export function checkAttempts(
  { observed, mayReadOld }: World,
  attempts: readonly PushAttempt[],
  acknowledged: readonly SentBatch[],
): void {
  const ids = attempts.map((each) => each.attempt_id);
  const known = new Set(ids);
  if (known.size !== ids.length) observed.violate("listed-once", "an attempt is listed twice");
  if (mayReadOld) return;
  for (const { pushId, leaves } of acknowledged)
    for (const index of leaves.keys())
      if (!known.has(`${pushId}-${index}`))
        observed.violate("attempts-are-complete", `leaf ${index} of ${pushId} is no attempt of its business`);
}
