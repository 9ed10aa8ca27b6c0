// The members of answers beside what is signed in them.
//   M1. Whatever stands beside a signed document says what the document says, or is refused.
//   M2. A member that no signature covers is on one list (`protocol/unsigned-members.ts`), and the report names it.
//   M3. A member that is not known is named as one that was not checked: v1 may add members. In an evidence file it is refused.

import { canonicalize, type JsonObject, type JsonValue } from "../protocol/canonical-json.ts";
import { envelopeShape } from "../protocol/dsse.ts";
import { type Fault, malformed } from "../protocol/payload.ts";
import { type AnswerName, type UnsignedName, whyUnsigned } from "../protocol/unsigned-members.ts";
import { isObject } from "../std/is-object.ts";
import { joinPointer } from "../std/json-pointer.ts";
import { type Check, unchecked } from "./report.ts";

/** The names of the checks of M2 and M3 begin so, and go on with the pointer of the member. */
const unsignedName = "unsigned";
const unknownName = "unknown";

/** A check for each of these members (M2). */
export function unsignedChecks<A extends AnswerName>(
  answer: A,
  members: readonly UnsignedName<A>[],
): readonly Check[] {
  return members.map((member) => ({
    name: `${unsignedName}${member}`,
    state: "unsigned",
    detail: whyUnsigned(answer, member),
  }));
}

/** A check for each of these members (M3). */
export function unknownChecks(members: readonly string[]): readonly Check[] {
  return members.map((pointer) =>
    unchecked(`${unknownName}${pointer}`, "This verifier does not know the member."),
  );
}

export interface MemberNames {
  /** RFC 6901 pointers of members that the schema does not have. */
  readonly unknown: readonly string[];
  /** The first member that the schema requires and the value does not have, or whose members are missing because it has none. */
  readonly missing: Fault | null;
}

/** A report names no more unknown members than these, one by one. */
const unknownMax = 100;

/** Compares the members of a value with those of a published schema, by their names alone. Where that leaves a choice, nothing is compared. */
export function compareMembers(schema: JsonObject, value: JsonValue): MemberNames {
  const unknown: string[] = [];
  const missing: Fault[] = [];
  walk(schema, value, "", { unknown, missing });
  return { unknown, missing: missing[0] ?? null };
}

function walk(
  schema: JsonValue | undefined,
  value: JsonValue,
  pointer: string,
  found: { readonly unknown: string[]; readonly missing: Fault[] },
): void {
  if (!isObject(schema)) return;
  const { allOf, properties, required, items } = schema;
  // An envelope is closed, and judged by itself.
  if (isEnvelope(schema)) return;
  if (Array.isArray(allOf)) walk(allOf[0], value, pointer, found);
  // What carries no envelope is compared whole with what was signed.
  if (Array.isArray(value) && carriesEnvelope(items)) {
    for (const [index, item] of value.entries()) walk(items, item, `${pointer}/${index}`, found);
  }
  if (!isObject(properties)) return;
  if (!isObject(value)) {
    // What the whole value is, its reader judges.
    if (pointer !== "") found.missing.push(malformed("Must be an object.", pointer));
    return;
  }
  for (const name of Object.keys(value)) {
    const at = joinPointer(pointer, name);
    if (Object.hasOwn(properties, name)) walk(properties[name], value[name] as JsonValue, at, found);
    else if (found.unknown.length < unknownMax) found.unknown.push(at);
  }
  for (const name of Array.isArray(required) ? required : []) {
    if (!Object.hasOwn(value, String(name)))
      found.missing.push(malformed(`${name} is required.`, `${pointer}/${name}`));
  }
}

function carriesEnvelope(items: JsonValue | undefined): boolean {
  const { properties } = isObject(items) ? items : {};
  return isObject(properties) && Object.values(properties).some(isEnvelope);
}

function isEnvelope(schema: JsonValue): boolean {
  if (!isObject(schema)) return false;
  const { title, allOf } = schema;
  return Array.isArray(allOf) ? allOf.some(isEnvelope) : title === envelopeShape.schema["title"];
}

/**
 * Why something beside a signed document says anything else than the document (M1); null where nothing does. Members that
 * are not beside it are not compared.
 */
export function besideFault(
  beside: JsonObject,
  signed: Readonly<Record<string, unknown>>,
  pointer = "",
): Fault | null {
  for (const [name, said] of Object.entries(signed)) {
    if (Object.hasOwn(beside, name) && !isSame(beside[name], said as JsonValue | undefined))
      return malformed("What stands beside the signed document is not what it says.", `${pointer}/${name}`);
  }
  return null;
}

/** Whether two values have the same RFC 8785 form. */
export function isSame(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return canonicalize(one) === canonicalize(other);
}
