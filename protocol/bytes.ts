// Bytes and their text forms. Every parser is strict: each byte string has exactly one text.

import { noteWork } from "../std/work.ts";
import { decodeBase64, decodeHex, encodeBase64, encodeHex } from "./portable-bytes.ts";

/** Node 20 has none of the platform's own conversions. */
const isNative = typeof Uint8Array.fromBase64 === "function";
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Encodes a text as UTF-8 (RFC 3629). Lone surrogates become U+FFFD, so refuse them beforehand. */
export function utf8(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Decodes UTF-8 bytes and keeps a byte order mark; returns null when they are not UTF-8 (RFC 3629). */
export function parseUtf8(bytes: Uint8Array): string | null {
  noteWork("byte", bytes.length);
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}

/** Encodes as base64 with padding (RFC 4648 §4). */
export function toBase64(bytes: Uint8Array): string {
  return isNative ? bytes.toBase64() : encodeBase64(bytes, "base64");
}

/**
 * Decodes base64; returns null unless the text is padded, without white space and with zero trailing bits (RFC 4648 §3.5).
 */
export function parseBase64(text: string): Uint8Array | null {
  noteWork("byte", text.length);
  if (text.length % 4 !== 0 || /[^A-Za-z0-9+/=]/.test(text)) return null;
  if (!isNative) return decodeBase64(text, "base64");
  try {
    return Uint8Array.fromBase64(text, { lastChunkHandling: "strict" });
  } catch {
    return null;
  }
}

/** Encodes as base64url without padding (RFC 4648 §5). */
export function toBase64Url(bytes: Uint8Array): string {
  return isNative
    ? bytes.toBase64({ alphabet: "base64url", omitPadding: true })
    : encodeBase64(bytes, "base64url");
}

/** Decodes base64url; returns null when the text is padded or not canonical. */
export function parseBase64Url(text: string): Uint8Array | null {
  if (text.length % 4 === 1 || /[^A-Za-z0-9_-]/.test(text)) return null;
  const padded = text + "=".repeat((4 - (text.length % 4)) % 4);
  if (!isNative) return decodeBase64(padded, "base64url");
  try {
    return Uint8Array.fromBase64(padded, { alphabet: "base64url", lastChunkHandling: "strict" });
  } catch {
    return null;
  }
}

/** Encodes as lower-case hexadecimal digits. */
export function toHex(bytes: Uint8Array): string {
  return isNative ? bytes.toHex() : encodeHex(bytes);
}

/** Decodes lower-case hexadecimal digits; returns null for anything else. */
export function parseHex(text: string): Uint8Array | null {
  if (text.length % 2 !== 0 || !/^[0-9a-f]*$/.test(text)) return null;
  return isNative ? Uint8Array.fromHex(text) : decodeHex(text);
}

/** Concatenates the parts. */
export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  noteWork("byte", length);
  const joined = new Uint8Array(length);
  let offset = 0;
  for (const part of parts) {
    joined.set(part, offset);
    offset += part.length;
  }
  return joined;
}

/** Bytes and texts as UTF-8 (see {@link utf8}), one after another, at the beginning of what `roomFor` gives for this length at most. */
export function joinUtf8(
  parts: readonly (string | Uint8Array)[],
  roomFor: (lengthMax: number) => Uint8Array = (lengthMax) => new Uint8Array(lengthMax),
): Uint8Array {
  let lengthMax = 0;
  // A UTF-16 unit is at most three bytes of UTF-8.
  for (const part of parts) lengthMax += typeof part === "string" ? 3 * part.length : part.length;
  const joined = roomFor(lengthMax);
  let length = 0;
  for (const part of parts) {
    if (typeof part === "string") length += encoder.encodeInto(part, joined.subarray(length)).written;
    else {
      joined.set(part, length);
      length += part.length;
    }
  }
  return joined.subarray(0, length);
}

/** Whether two byte strings are equal. Not for secrets: its running time depends on the contents. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index += 1) if (a[index] !== b[index]) return false;
  return true;
}
