// The exact bytes of a record that a program writes: its RFC 8785 form, so that the same content always has the same
// bytes, and a push that is run again seals and sends the same ones.

import { parseUtf8, utf8 } from "../protocol/bytes.ts";
import { canonicalBytes, type JsonValue } from "../protocol/canonical-json.ts";
import { type Result, refuse } from "../protocol/result.ts";
import { parseStrictJson } from "../protocol/strict-json.ts";

export type { JsonValue } from "../protocol/canonical-json.ts";

/** Throws for what is no JSON (RFC 8785 §3.1: a lone surrogate, a number that is not finite). */
export function recordBytes(record: JsonValue): Uint8Array {
  return canonicalBytes(record);
}

/** Strict JSON (RFC 8259): a duplicate member or a lone surrogate is refused, where JSON.parse would pass over it. */
export function parseJsonText(text: string): Result<JsonValue> {
  return parseStrictJson(utf8(text));
}

/** UTF-8 text of a file, without a byte order mark. */
export function parseText(bytes: Uint8Array): Result<string, "utf8_invalid"> {
  const text = parseUtf8(bytes);
  if (text === null) return refuse("utf8_invalid", "The file is not UTF-8 text.");
  return { ok: true, value: text.startsWith("\uFEFF") ? text.slice(1) : text };
}
