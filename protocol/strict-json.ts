// Strict JSON (RFC 8259 with the requirements of RFC 7493): UTF-8 without byte order mark, no duplicate members, no lone
// surrogates, finite numbers, bounded depth. `JSON.parse` alone hides duplicates, reads 1e400 as infinity and accepts any
// depth. A typical document is judged without examining its members one by one: its colons are counted and compared with the
// members that were parsed. Only a suspicious text is read again, token by token (json-reader.ts).

import { noteWork } from "../std/work.ts";
import { parseUtf8 } from "./bytes.ts";
import type { JsonValue } from "./canonical-json.ts";
import { endOfString, readTokens, type TokenFault } from "./json-reader.ts";
import { ok, type Result, refuse } from "./result.ts";

export type JsonFault = "utf8_invalid" | "depth_exceeded" | "values_exceeded" | TokenFault;

/** Default for the maximum depth. */
export const defaultDepthMax = 64;

/**
 * Reads untrusted bytes in time linear in their length, without recursion. The outermost array or object has depth 1. With
 * `valuesMax`, a text with more commas and brackets than that is refused before any value is built: an object in memory
 * costs thirty times the three bytes it may take to write one. Faults that can be located carry an RFC 6901 pointer.
 * `__proto__` is a member like any other.
 */
export function parseStrictJson(
  bytes: Uint8Array,
  options: { readonly depthMax?: number; readonly valuesMax?: number } = {},
): Result<JsonValue, JsonFault> {
  const depthMax = options.depthMax ?? defaultDepthMax;
  const text = parseUtf8(bytes);
  if (text === null) return refuse("utf8_invalid", "The bytes are not UTF-8.");
  const valuesMax = options.valuesMax ?? Number.POSITIVE_INFINITY;
  const colons = countColons(text, { depthMax, valuesMax });
  if (colons === "depth_exceeded") return refuse(colons, `The JSON is nested deeper than ${depthMax}.`);
  if (colons === "values_exceeded") return refuse(colons, `The JSON has more than ${valuesMax} values.`);
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (error) {
    return refuse("json_malformed", `Not JSON: ${error instanceof Error ? error.message : "unreadable"}.`);
  }
  const isUsual = countMembers(value) === colons && !(text.includes("\\") && needsReader(text));
  if (isUsual) return ok(value);
  noteWork("byte", rereadCost * text.length);
  return readTokens(text);
}

/** What a byte costs that is read token by token, in bytes that the platform reads. */
const rereadCost = 4;

const quote = 0x22;
const colon = 0x3a;
const comma = 0x2c;

/**
 * The number of colons outside strings, which in JSON is the number of members written, or the limit that the text exceeds.
 */
function countColons(
  text: string,
  limits: { readonly depthMax: number; readonly valuesMax: number },
): number | "depth_exceeded" | "values_exceeded" {
  let colons = 0;
  let depth = 0;
  let values = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === quote) index = endOfString(text, index);
    else if (code === colon) colons += 1;
    else if (code === comma) values += 1;
    else if (code === 0x7b || code === 0x5b) {
      values += 1;
      depth += 1;
      if (depth > limits.depthMax) return "depth_exceeded";
      if (values > limits.valuesMax) return "values_exceeded";
    } else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
  return values > limits.valuesMax ? "values_exceeded" : colons;
}

/** The number of members in a parsed value; NaN, which equals nothing, when one of its numbers is not finite. */
function countMembers(root: JsonValue): number {
  if (typeof root === "number") return Number.isFinite(root) ? 0 : Number.NaN;
  if (typeof root !== "object" || root === null) return 0;
  let visited = 0;
  const waiting: object[] = [root];
  let members = 0;
  for (let container = waiting.pop(); container !== undefined; container = waiting.pop()) {
    // The values of an array are its items.
    const values: readonly unknown[] = Object.values(container);
    visited += values.length + 1;
    if (!Array.isArray(container)) members += values.length;
    for (const value of values) {
      if (typeof value === "object" && value !== null) waiting.push(value);
      else if (typeof value === "number" && !Number.isFinite(value)) return Number.NaN;
    }
  }
  noteWork("value", visited);
  return members;
}

const surrogateEscape = /\\u[dD][89a-fA-F]/;
const colonNext = /[ \t\r\n]*:/y;

/**
 * Whether an escape may stand for a surrogate (UTF-8 itself has none) or occurs in a member name: V8 up to at least 14.6 may
 * give such a member the name of one in a text it read earlier (nodejs/node issue 63785).
 */
function needsReader(text: string): boolean {
  if (surrogateEscape.test(text)) return true;
  for (let start = text.indexOf('"'); start !== -1; ) {
    const end = endOfString(text, start);
    colonNext.lastIndex = end + 1;
    if (colonNext.test(text) && text.slice(start, end).includes("\\")) return true;
    start = text.indexOf('"', end + 1);
  }
  return false;
}
