// Strict JSON (RFC 8259 with the demands of RFC 7493): UTF-8 without byte order mark, no duplicate members, no lone
// surrogates, finite numbers, bounded depth. `JSON.parse` alone hides duplicates, reads 1e400 as infinity and follows
// any depth. The usual document is judged without looking at its members one by one: its colons are counted against
// the members that arrived. Only a suspicious text is read again, token by token, for the first fault and its place.

import { parseUtf8 } from "./bytes.ts";
import type { JsonValue } from "./canonical-json.ts";
import { ok, type Refusal, type Result, refuse } from "./result.ts";

export type JsonFault =
  | "utf8_invalid"
  | "json_malformed"
  | "member_duplicated"
  | "surrogate_lone"
  | "depth_exceeded";

/** Depth allowed unless told otherwise. */
export const defaultDepthMax = 64;

/**
 * Reads untrusted bytes in time linear in their length, without recursion. The outermost array or object has depth 1.
 * Faults that have a place name it by an RFC 6901 pointer. `__proto__` is a member like any other.
 */
export function parseStrictJson(
  bytes: Uint8Array,
  options: { readonly depthMax?: number } = {},
): Result<JsonValue, JsonFault> {
  const depthMax = options.depthMax ?? defaultDepthMax;
  const text = parseUtf8(bytes);
  if (text === null) return refuse("utf8_invalid", "The bytes are not UTF-8.");
  const colons = countColons(text, depthMax);
  if (colons === null) return refuse("depth_exceeded", `The JSON is nested deeper than ${depthMax}.`);
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (error) {
    return refuse("json_malformed", `Not JSON: ${error instanceof Error ? error.message : "unreadable"}.`);
  }
  // UTF-8 has no surrogates, so that only an escape can bring a lone one.
  if (countMembers(value) === colons && !surrogateEscape.test(text)) return ok(value);
  return firstFault(text) ?? ok(value);
}

const surrogateEscape = /\\u[dD][89a-fA-F]/;
const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const comma = 0x2c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/** Colons outside strings, which in JSON is the number of members written; null when the text is too deep. */
function countColons(text: string, depthMax: number): number | null {
  let colons = 0;
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === quote) index = endOfString(text, index);
    else if (code === colon) colons += 1;
    else if (code === openBrace || code === openBracket) {
      depth += 1;
      if (depth > depthMax) return null;
    } else if (code === closeBrace || code === closeBracket) depth -= 1;
  }
  return colons;
}

/** Index of the quote that ends the string starting at `start`; the text's length when none does. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && text.charCodeAt(end - 1) === backslash) {
    let first = end - 1;
    while (text.charCodeAt(first - 1) === backslash) first -= 1;
    if ((end - first) % 2 === 0) return end;
    end = text.indexOf('"', end + 1);
  }
  return end === -1 ? text.length : end;
}

/** Members in a parsed value; NaN, which equals nothing, when one of its numbers is not finite. */
function countMembers(root: JsonValue): number {
  if (typeof root === "number") return Number.isFinite(root) ? 0 : Number.NaN;
  if (typeof root !== "object" || root === null) return 0;
  const waiting: object[] = [root];
  let members = 0;
  for (let container = waiting.pop(); container !== undefined; container = waiting.pop()) {
    // The values of an array are its items.
    const values: readonly unknown[] = Array.isArray(container) ? container : Object.values(container);
    if (values !== container) members += values.length;
    for (const value of values) {
      if (typeof value === "object" && value !== null) waiting.push(value);
      else if (typeof value === "number" && !Number.isFinite(value)) return Number.NaN;
    }
  }
  return members;
}

/** An array or object that is open where the reader stands. */
interface Container {
  /** Member names so far; null in an array. */
  readonly names: Set<string> | null;
  /** Name of the current member, or index of the current item. */
  at: string | number;
  /** Whether the next string is a member name. */
  nameNext: boolean;
}

const scalar = /[^\s,:[\]{}"]+/y;

/** The first duplicated member, lone surrogate or infinite number of a text that `JSON.parse` has read. */
function firstFault(text: string): Refusal<JsonFault> | null {
  const open: Container[] = [];
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    const container = open.at(-1);
    if (code === quote) {
      const end = endOfString(text, index);
      const fault = stringFault(JSON.parse(text.slice(index, end + 1)) as string, open);
      if (fault !== null) return fault;
      index = end;
    } else if (code === openBrace) open.push({ names: new Set(), at: "", nameNext: true });
    else if (code === openBracket) open.push({ names: null, at: 0, nameNext: false });
    else if (code === closeBrace || code === closeBracket) open.pop();
    else if (code === comma && container !== undefined) {
      if (typeof container.at === "number") container.at += 1;
      else container.nameNext = true;
    } else {
      scalar.lastIndex = index;
      const token = scalar.exec(text)?.[0];
      if (token === undefined) continue;
      // Literals are NaN here, and not infinite either.
      if (Math.abs(Number(token)) === Number.POSITIVE_INFINITY) {
        return refuse(
          "json_malformed",
          "The number is larger than any that JSON readers hold.",
          pointerTo(open),
        );
      }
      index += token.length - 1;
    }
  }
  return null;
}

function stringFault(value: string, open: readonly Container[]): Refusal<JsonFault> | null {
  const container = open.at(-1);
  const isName = container?.nameNext === true;
  if (!value.isWellFormed()) {
    // A pointer cannot hold a lone surrogate, so that a name is placed by the object it is in.
    const pointer = isName ? pointerTo(open.slice(0, -1)) : pointerTo(open);
    return refuse("surrogate_lone", `A ${isName ? "member name" : "string"} has a lone surrogate.`, pointer);
  }
  if (!isName || container.names === null) return null;
  container.nameNext = false;
  container.at = value;
  if (container.names.has(value))
    return refuse("member_duplicated", "The member occurs twice.", pointerTo(open));
  container.names.add(value);
  return null;
}

/** RFC 6901 §3 to §5. */
function pointerTo(open: readonly Container[]): string {
  return open.map(({ at }) => `/${String(at).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
