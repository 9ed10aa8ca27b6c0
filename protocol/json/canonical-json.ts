// Canonical JSON (RFC 8785): one text per value, so that signed text can be reproduced. It is written here, on top of the
// platform's own string and number serialisation, because it must refuse what is not a JSON value instead of dropping or
// converting it, and because every row and receipt passes through it; its tests check it against the `canonicalize` package.

import { noteWork } from "../../std/work.ts";
import { utf8 } from "../bytes.ts";

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

export interface JsonObject {
  readonly [member: string]: JsonValue;
}

/** A deeper value is a bug in the caller: nothing that the service signs comes close. */
export const canonicalDepthMax = 64;

/**
 * The canonical text of a JSON value (RFC 8785 §3.2). Throws TypeError for anything that is not a JSON value, which is a bug
 * in this code base, never bad input.
 */
export function canonicalize(value: JsonValue): string {
  const text = write(value, 0);
  noteWork("byte", text.length);
  return text;
}

/** The UTF-8 bytes of {@link canonicalize}. */
export function canonicalBytes(value: JsonValue): Uint8Array {
  return utf8(canonicalize(value));
}

function write(value: JsonValue, depth: number): string {
  if (value === null || value === true || value === false) return String(value);
  if (typeof value === "string") return writeString(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new TypeError("A JSON number must be finite (RFC 8785 §3.2.2.3).");
    // ECMAScript's number-to-string is what RFC 8785 §3.2.2.3 prescribes; it writes -0 as 0.
    return String(value);
  }
  if (typeof value !== "object") throw new TypeError(`${typeof value} is not a JSON value.`);
  if (depth >= canonicalDepthMax)
    throw new TypeError(`A JSON value must be at most ${canonicalDepthMax} levels deep.`);
  return isArray(value) ? writeArray(value, depth + 1) : writeObject(value, depth + 1);
}

function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function writeString(value: string): string {
  if (!value.isWellFormed())
    throw new TypeError("A JSON string must have no lone surrogates (RFC 8785 §3.2.2.2).");
  // For well-formed strings JSON.stringify escapes exactly as RFC 8785 §3.2.2.2 prescribes.
  return JSON.stringify(value);
}

function writeArray(items: readonly JsonValue[], depth: number): string {
  noteWork("value", items.length);
  let text = "[";
  for (let index = 0; index < items.length; index += 1) {
    // A hole in the array reads as undefined, which is refused.
    const item = items[index] as JsonValue;
    text += index === 0 ? write(item, depth) : `,${write(item, depth)}`;
  }
  return `${text}]`;
}

function writeObject(object: JsonObject, depth: number): string {
  const prototype: unknown = Object.getPrototypeOf(object);
  // A Date, a Map or a byte array has no members that JSON would show, so it would be signed as something else.
  if (prototype !== Object.prototype && prototype !== null)
    throw new TypeError("A JSON object must be a plain object.");
  // The default sort compares UTF-16 code units, as RFC 8785 §3.2.3 prescribes.
  const names = Object.keys(object).sort();
  noteWork("value", names.length);
  let text = "{";
  for (let index = 0; index < names.length; index += 1) {
    const name = names[index] as string;
    const member = object[name] as JsonValue;
    text += `${index === 0 ? "" : ","}${writeString(name)}:${write(member, depth)}`;
  }
  return `${text}}`;
}
