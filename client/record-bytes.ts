// The exact bytes of a record written by a program: its RFC 8785 form, so that the same content always has the same bytes
// and a rerun push seals and sends identical ones.

import { utf8 } from "../protocol/bytes.ts";
import { canonicalBytes, type JsonValue } from "../protocol/canonical-json.ts";
import type { Result } from "../protocol/result.ts";
import { parseStrictJson } from "../protocol/strict-json.ts";
import { isObject } from "../std/is-object.ts";

export type { JsonValue } from "../protocol/canonical-json.ts";

/** Throws for values that are not JSON (RFC 8785 §3.1: a lone surrogate, a non-finite number). */
export function recordBytes(record: JsonValue): Uint8Array {
  return canonicalBytes(record);
}

/** Parses strict JSON (RFC 8259): refuses duplicate members and lone surrogates, which JSON.parse would let through. */
export function parseJsonText(text: string): Result<JsonValue> {
  return parseStrictJson(utf8(text));
}

/** The business's own id of a product; null where it has none that is a text. */
export function ownIdOf(record: unknown): string | null {
  const id = isObject(record) ? record["business_product_id"] : null;
  return typeof id === "string" ? id : null;
}
