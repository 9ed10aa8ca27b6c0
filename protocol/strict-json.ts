// Strict JSON (RFC 8259 with the demands of RFC 7493): UTF-8 without byte order mark, no duplicate members, no lone
// surrogates, finite numbers, bounded depth. `JSON.parse` alone hides duplicates and follows any depth.

import { parseUtf8 } from "./bytes.ts";
import type { JsonValue } from "./canonical-json.ts";
import { ok, type Result, refuse } from "./result.ts";

export type JsonFault = "utf8_invalid" | "json_malformed" | "member_duplicated" | "surrogate_lone" | "depth_exceeded";

/** Depth allowed unless told otherwise. */
export const defaultDepthMax = 64;

/** Reads untrusted bytes in time linear in their length, and never deeper than `depthMax`. Faults name the place by an RFC 6901 pointer where there is one. */
export function parseStrictJson(bytes: Uint8Array, options: { readonly depthMax?: number } = {}): Result<JsonValue, JsonFault> {
  const text = parseUtf8(bytes);
  if (text === null) return refuse("utf8_invalid", "The bytes are not UTF-8.");
  return parseStrictJsonText(text, options);
}

/** As {@link parseStrictJson}, of a text. */
export function parseStrictJsonText(text: string, options: { readonly depthMax?: number } = {}): Result<JsonValue, JsonFault> {
  const depthMax = options.depthMax ?? defaultDepthMax;
  const scanned = scan(text, depthMax);
  if (scanned === "too_deep") return refuse("depth_exceeded", `The JSON is nested deeper than ${depthMax}.`);
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (error) {
    return refuse("json_malformed", `Not JSON: ${error instanceof Error ? error.message : "unreadable"}.`);
  }
  const tally: Tally = { members: 0, hasEscapes: text.includes("\\u"), fault: null };
  walk(value, tally, "");
  if (tally.fault) return tally.fault;
  if (tally.members !== scanned) {
    const pointer = findDuplicate(text);
    return refuse("member_duplicated", `A member occurs twice: ${pointer}.`, pointer);
  }
  return ok(value);
}

const quote = 34;
const backslash = 92;

/** Number of members in the text, counted by their colons; sound only if the text is JSON. */
function scan(text: string, depthMax: number): number | "too_deep" {
  let members = 0;
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === quote) index = endOfString(text, index);
    else if (code === 58) members += 1;
    else if (code === 123 || code === 91) {
      depth += 1;
      if (depth > depthMax) return "too_deep";
    } else if (code === 125 || code === 93) depth -= 1;
  }
  return members;
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

interface Tally {
  members: number;
  readonly hasEscapes: boolean;
  fault: Result<never, JsonFault> | null;
}

function walk(value: JsonValue, tally: Tally, pointer: string): void {
  if (typeof value === "string") {
    if (tally.hasEscapes && !value.isWellFormed()) {
      tally.fault ??= refuse("surrogate_lone", "A string has a lone surrogate.", pointer);
    }
  } else if (typeof value === "number") {
    if (!Number.isFinite(value)) tally.fault ??= refuse("json_malformed", "A number is out of range.", pointer);
  } else if (value !== null && typeof value === "object") {
    walkMembers(value as Readonly<Record<string, JsonValue>>, tally, pointer);
  }
}

function walkMembers(container: Readonly<Record<string, JsonValue>>, tally: Tally, pointer: string): void {
  if (Array.isArray(container)) {
    for (let index = 0; index < container.length; index += 1) walk(container[index] as JsonValue, tally, pointer);
    return;
  }
  const names = Object.keys(container);
  tally.members += names.length;
  for (const name of names) {
    if (tally.hasEscapes && !name.isWellFormed()) {
      tally.fault ??= refuse("surrogate_lone", "A member name has a lone surrogate.", pointer);
    }
    const member = container[name] as JsonValue;
    const isPlain = typeof member === "string" && !tally.hasEscapes;
    if (!isPlain) walk(member, tally, tally.fault ? pointer : joinPointer(pointer, name));
  }
}

function joinPointer(pointer: string, name: string): string {
  return `${pointer}/${/[~/]/.test(name) ? name.replaceAll("~", "~0").replaceAll("/", "~1") : name}`;
}

/** Pointer of the first duplicated member of a text that is known to be JSON and to have one. */
function findDuplicate(text: string): string {
  // One entry a container that is open: its names so far (null for an array), and where it is.
  const open: { readonly names: Set<string> | null; readonly pointer: string; last: string; items: number }[] = [];
  let expectName = false;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    const container = open.at(-1);
    if (code === quote) {
      const end = endOfString(text, index);
      if (container?.names && expectName) {
        const name = JSON.parse(text.slice(index, end + 1)) as string;
        if (container.names.has(name)) return joinPointer(container.pointer, name);
        container.names.add(name);
        container.last = name;
        expectName = false;
      }
      index = end;
    } else if (code === 123 || code === 91) {
      const pointer = container ? joinPointer(container.pointer, container.names ? container.last : String(container.items)) : "";
      open.push({ names: code === 123 ? new Set() : null, pointer, last: "", items: 0 });
      expectName = code === 123;
    } else if (code === 125 || code === 93) {
      open.pop();
      expectName = false;
    } else if (code === 44 && container) {
      if (container.names) expectName = true;
      else container.items += 1;
    }
  }
  return "";
}
