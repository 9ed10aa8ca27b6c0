// Strict JSON (RFC 8259 with the requirements of RFC 7493): UTF-8 without byte order mark, no duplicate members, no lone
// surrogates, finite numbers, bounded depth. `JSON.parse` alone hides duplicates, reads 1e400 as infinity and accepts any
// depth. A typical document is judged without examining its members one by one: its colons are counted and compared with the
// members that were parsed. Only a suspicious text is read again, token by token.

import { joinPointer } from "../../std/json-pointer.ts";
import { noteWork } from "../../std/work.ts";
import { parseUtf8 } from "../bytes.ts";
import { ok, type Refusal, type Result, refuse } from "../result.ts";
import type { JsonValue } from "./canonical-json.ts";

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
  const parsed = parseText(bytes, options);
  return parsed.ok ? judgeMembers(parsed.value) : parsed;
}

/** A longer text takes more than one step. */
const stepCharacters = 16_384;

/** The same in two steps, if the text is so long that its members may be many. */
export function* parsingStrictJson(
  ...of: Parameters<typeof parseStrictJson>
): Generator<void, Result<JsonValue, JsonFault>> {
  const parsed = parseText(...of);
  if (!parsed.ok) return parsed;
  if (parsed.value.text.length > stepCharacters) yield;
  return judgeMembers(parsed.value);
}

/** What the platform reads in a text, and how many members are written there. */
interface ParsedText {
  readonly text: string;
  readonly value: JsonValue;
  readonly colons: number;
}

function parseText(
  bytes: Uint8Array,
  options: NonNullable<Parameters<typeof parseStrictJson>[1]> = {},
): Result<ParsedText, JsonFault> {
  const depthMax = options.depthMax ?? defaultDepthMax;
  const text = parseUtf8(bytes);
  if (text === null) return refuse("utf8_invalid", "The bytes are not UTF-8.");
  const valuesMax = options.valuesMax ?? Number.POSITIVE_INFINITY;
  const colons = countColons(text, { depthMax, valuesMax });
  if (colons === "depth_exceeded") return refuse(colons, `The JSON is nested deeper than ${depthMax}.`);
  if (colons === "values_exceeded") return refuse(colons, `The JSON has more than ${valuesMax} values.`);
  try {
    return ok({ text, value: JSON.parse(text) as JsonValue, colons });
  } catch (error) {
    return refuse("json_malformed", `Not JSON: ${error instanceof Error ? error.message : "unreadable"}.`);
  }
}

function judgeMembers({ text, value, colons }: ParsedText): Result<JsonValue, JsonFault> {
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

// The slow, exact half of strict JSON: reads a text token by token with its own stack, and stops at the first fault it can
// locate. It relies on the platform only for single strings and numbers.

type TokenFault = "json_malformed" | "member_duplicated" | "surrogate_lone";

/** Index of the quote that ends the string starting at `start`; the text's length when there is none. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && text[end - 1] === "\\") {
    let first = end - 1;
    while (text[first - 1] === "\\") first -= 1;
    if ((end - first) % 2 === 0) return end;
    end = text.indexOf('"', end + 1);
  }
  return end === -1 ? text.length : end;
}

/**
 * The value of a text that is already known to be JSON (RFC 8259), unless a member occurs twice in its object, a string has
 * a lone surrogate, or a number exceeds the range of doubles. The fault that comes first in the text is reported.
 */
function readTokens(text: string): Result<JsonValue, TokenFault> {
  const document: JsonValue[] = [];
  const open: Container[] = [{ holds: document, names: null, at: 0, nameNext: false }];
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    const container = open.at(-1);
    if (container === undefined) break;
    if (character === '"') {
      const end = endOfString(text, index);
      const fault = readString(JSON.parse(text.slice(index, end + 1)) as string, container, open);
      if (fault !== null) return fault;
      index = end;
    } else if (character === "{" || character === "[") {
      open.push(enter(container, character === "{"));
    } else if (character === "}" || character === "]") {
      open.pop();
    } else if (character === ",") {
      if (typeof container.at === "number") container.at += 1;
      container.nameNext = container.names !== null;
    } else {
      scalar.lastIndex = index;
      const token = scalar.exec(text)?.[0];
      if (token === undefined) continue;
      const value = JSON.parse(token) as JsonValue;
      if (typeof value === "number" && !Number.isFinite(value)) {
        return refuse(
          "json_malformed",
          "The number is larger than JSON readers can represent.",
          pointerTo(open),
        );
      }
      place(container, value);
      index += token.length - 1;
    }
  }
  return ok(document[0] ?? null);
}

/** A literal or a number. */
const scalar = /[^\s,:[\]{}"]+/y;

/** An array or object that is open at the reader's position; the outermost one only holds the document's value. */
interface Container {
  readonly holds: object;
  /** The member names so far; null in an array. */
  readonly names: Set<string> | null;
  /** The name of the current member, or the index of the current item. */
  at: string | number;
  /** Whether the next string is a member name. */
  nameNext: boolean;
}

function enter(parent: Container, isObject: boolean): Container {
  const holds = isObject ? {} : [];
  place(parent, holds);
  return { holds, names: isObject ? new Set() : null, at: isObject ? "" : 0, nameNext: isObject };
}

function place(container: Container, value: JsonValue): void {
  // An assignment to `__proto__` would not create a member.
  Object.defineProperty(container.holds, container.at, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  });
}

function readString(
  text: string,
  container: Container,
  open: readonly Container[],
): Refusal<TokenFault> | null {
  const isName = container.nameNext;
  if (!text.isWellFormed()) {
    // A pointer cannot hold a lone surrogate, so a faulty name is located by the object that contains it.
    const pointer = pointerTo(isName ? open.slice(0, -1) : open);
    return refuse("surrogate_lone", `A ${isName ? "member name" : "string"} has a lone surrogate.`, pointer);
  }
  if (!isName || container.names === null) {
    place(container, text);
    return null;
  }
  container.nameNext = false;
  container.at = text;
  if (container.names.has(text))
    return refuse("member_duplicated", "The member occurs twice.", pointerTo(open));
  container.names.add(text);
  return null;
}

function pointerTo(open: readonly Container[]): string {
  return open.slice(1).reduce((pointer, { at }) => joinPointer(pointer, String(at)), "");
}

// The exact text of one member of a JSON text. A record is served verbatim inside an answer and its hash covers those very
// characters: parsing and reprinting it could change them.

/**
 * Returns the exact characters of the value at `path` in `text`: everything from the colon to the following comma or brace,
 * including white space, because the sealed bytes of a record may start or end with some. Returns null when there is no such
 * member. `text` must already be known to be JSON without duplicate members (`parseStrictJson`).
 */
export function exactMember(text: string, ...path: readonly string[]): string | null {
  let start = 0;
  for (const name of path) {
    const at = memberStart(text, skipSpace(text, start), name);
    if (at === null) return null;
    start = at;
  }
  const end = valueEnd(text, skipSpace(text, start));
  return end > start ? text.slice(start, skipSpace(text, end)) : null;
}

/**
 * Returns the exact characters of each item of a JSON array, without the white space around them; null if `text` is not an array. As
 * for a member, `text` must already be known to be JSON.
 */
export function exactItems(text: string): readonly string[] | null {
  let index = skipSpace(text, 0);
  if (text[index] !== "[") return null;
  index = skipSpace(text, index + 1);
  const items: string[] = [];
  while (index < text.length && text[index] !== "]") {
    const end = valueEnd(text, index);
    if (end <= index) return null;
    items.push(text.slice(index, end));
    index = skipSpace(text, end);
    if (text[index] === ",") index = skipSpace(text, index + 1);
  }
  return items;
}

/** The index after the colon of member `name` in the object that starts at `start`. */
function memberStart(text: string, start: number, name: string): number | null {
  if (text[start] !== "{") return null;
  let index = skipSpace(text, start + 1);
  while (text[index] === '"') {
    const nameEnd = endOfString(text, index) + 1;
    const colonEnd = skipSpace(text, nameEnd) + 1;
    if (JSON.parse(text.slice(index, nameEnd)) === name) return colonEnd;
    index = skipSpace(text, valueEnd(text, skipSpace(text, colonEnd)));
    if (text[index] !== ",") return null;
    index = skipSpace(text, index + 1);
  }
  return null;
}

function valueEnd(text: string, start: number): number {
  const first = text[start];
  if (first === '"') return endOfString(text, start) + 1;
  if (first === "{" || first === "[") return containerEnd(text, start);
  let end = start;
  while (end < text.length && !/[\s,\]}]/.test(text[end] as string)) end += 1;
  return end;
}

function containerEnd(text: string, start: number): number {
  let depth = 0;
  for (let index = start; index < text.length; index += 1) {
    const character = text[index];
    if (character === '"') index = endOfString(text, index);
    else if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") {
      depth -= 1;
      if (depth === 0) return index + 1;
    }
  }
  return text.length;
}

function skipSpace(text: string, from: number): number {
  let index = from;
  while (index < text.length && " \t\n\r".includes(text[index] as string)) index += 1;
  return index;
}
