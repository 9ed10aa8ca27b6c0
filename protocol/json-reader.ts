// The slow, exact half of strict JSON: reads a text token by token with its own stack, and stops at the first fault it can
// locate. It relies on the platform only for single strings and numbers.

import { joinPointer } from "../std/json-pointer.ts";
import type { JsonValue } from "./canonical-json.ts";
import { ok, type Refusal, type Result, refuse } from "./result.ts";

export type TokenFault = "json_malformed" | "member_duplicated" | "surrogate_lone";

/** Index of the quote that ends the string starting at `start`; the text's length when there is none. */
export function endOfString(text: string, start: number): number {
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
export function readTokens(text: string): Result<JsonValue, TokenFault> {
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
