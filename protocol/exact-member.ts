// The exact text of one member of a JSON text. A record is served verbatim inside an answer and its hash covers those very
// characters: parsing and reprinting it could change them.

import { endOfString } from "./json-reader.ts";

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
