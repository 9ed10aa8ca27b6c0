// The members of answers beside what is signed in them.
//   M1. Whatever stands beside a signed document says what the document says, or is refused.
//   M2. A member that no signature covers is on one list (`protocol/unsigned-members.ts`), and the report names it.
//   M3. A member that is not known is named as one that was not checked: v1 may add members. In an evidence file it is refused.

import { envelopeShape, type Fault, malformed } from "../protocol/dsse.ts";
import { canonicalize, type JsonObject, type JsonValue } from "../protocol/json/canonical-json.ts";
import type { ReasonCode, Verdict } from "../protocol/reason-codes.ts";
import { type AnswerName, type UnsignedName, whyUnsigned } from "../protocol/unsigned-members.ts";
import { isObject, joinPointer } from "../std/json-pointer.ts";
import type { SealRefusal, SealReport, SealVerdict } from "./seal-report.ts";

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

// The result of verifying several things at once: one named check for each.

export interface Check {
  /** The name of the check, for example `seal` or `rows/3`. */
  readonly name: string;
  /** `unsigned`: the check is about a member of the closed list of those that no signature covers. */
  readonly state: "ok" | "failed" | "not_checked" | "unsigned";
  /** Present only on a failed check. */
  readonly reason?: ReasonCode;
  /** Human-readable: what failed, why there was no check, or what a successful check found. */
  readonly detail?: string;
  /** Present only on the failed check of a seal: what the seal claims, unverified, and how far its checks got. */
  readonly refused_seal?: Pick<SealRefusal, "claimed" | "checks">;
}

export interface Report {
  /** Whether no check failed and at least one was made. */
  readonly valid: boolean;
  /** Whether every check could be made: nothing was left open but the members on the list, each of which has its check. */
  readonly complete: boolean;
  readonly checks: readonly Check[];
  /** Of a document that a person sealed and that can be read (sealed-words.ts), and of a price that was proven (shown-price.ts): what it says. */
  readonly words?: readonly string[];
}

/** Turns a verdict into a check. `found` describes a successful one. */
export function checkOf<T>(name: string, verdict: Verdict<T>, found?: (value: T) => string): Check {
  if (!verdict.ok) return { name, state: "failed", reason: verdict.code, detail: verdict.detail };
  return found === undefined ? { name, state: "ok" } : { name, state: "ok", detail: found(verdict.value) };
}

/** Turns the verdict on a seal into a check. */
export function sealCheckOf(name: string, verdict: SealVerdict, found: (seal: SealReport) => string): Check {
  const check = checkOf(name, verdict, found);
  if (verdict.ok) return check;
  return { ...check, refused_seal: { claimed: verdict.claimed, checks: verdict.checks } };
}

/** A check whose evidence is missing. */
export function unchecked(name: string, why: string): Check {
  return { name, state: "not_checked", detail: why };
}

/** Summarises checks. */
export function reportOf(checks: readonly Check[]): Report {
  const made = checks.filter(({ state }) => state === "ok" || state === "failed");
  return {
    valid: made.length > 0 && made.every((check) => check.state === "ok"),
    complete: checks.every(({ state }) => state !== "not_checked"),
    checks,
  };
}
