// Bytes and their text forms. Every parser is strict: each byte string has exactly one text.

import { sha256 as nobleSha256 } from "@noble/hashes/sha2.js";
import { noteWork } from "../std/work.ts";

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
  if (text.length % 4 !== 0) return null;
  if (!isNative) return decodeBase64(text, "base64");
  try {
    const bytes = Uint8Array.fromBase64(text, { lastChunkHandling: "strict" });
    const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
    // The platform passes over white space: then there are fewer bytes than the text has room for.
    return bytes.length === (text.length / 4) * 3 - padding ? bytes : null;
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

// Base64 and hexadecimal digits for runtimes without `Uint8Array.fromBase64` and its relatives (ECMAScript 2026), such as
// Node 20. Same results as those, in several times the time.

export type Alphabet = "base64" | "base64url";

const common = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const alphabets = { base64: `${common}+/`, base64url: `${common}-_` };
const codesOf = (digits: string): ReadonlyMap<string, number> =>
  new Map([...digits].map((digit, code) => [digit, code]));
const codes = { base64: codesOf(alphabets.base64), base64url: codesOf(alphabets.base64url) };

/** Encodes with padding, or without it for base64url. */
export function encodeBase64(bytes: Uint8Array, alphabet: Alphabet): string {
  const digits = alphabets[alphabet];
  let text = "";
  for (let at = 0; at < bytes.length; at += 3) {
    const bits = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    const length = Math.min(3, bytes.length - at) + 1;
    for (let place = 0; place < 4; place += 1) {
      if (place < length) text += digits[(bits >> (18 - 6 * place)) & 63];
      else if (alphabet === "base64") text += "=";
    }
  }
  return text;
}

/** Decodes padded text strictly: null for other digits, other padding, or trailing bits that are not zero. */
export function decodeBase64(text: string, alphabet: Alphabet): Uint8Array | null {
  const padding = /={0,2}$/.exec(text)?.[0].length ?? 0;
  if (text.length % 4 !== 0) return null;
  const bytes = new Uint8Array((text.length / 4) * 3 - padding);
  for (let at = 0, to = 0; at < text.length; at += 4, to += 3) {
    const isLast = at + 4 === text.length;
    let bits = 0;
    for (let place = 0; place < 4; place += 1) {
      const isPadding = isLast && place >= 4 - padding;
      const code = isPadding ? 0 : codes[alphabet].get(text[at + place] ?? "");
      if (code === undefined) return null;
      bits = (bits << 6) | code;
    }
    const left = isLast ? 3 - padding : 3;
    if ((bits & (0xffffff >> (8 * left))) !== 0) return null;
    for (let place = 0; place < left; place += 1) bytes[to + place] = (bits >> (16 - 8 * place)) & 255;
  }
  return bytes;
}

/** Encodes as lower-case hexadecimal digits. */
export function encodeHex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
  return text;
}

/** Decodes an even number of hexadecimal digits. */
export function decodeHex(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length / 2);
  for (let at = 0; at < bytes.length; at += 1)
    bytes[at] = Number.parseInt(text.slice(2 * at, 2 * at + 2), 16);
  return bytes;
}

// SHA-256 (FIPS 180-4) and the specification's hash text `sha256:<64 lowercase hex>`.

/**
 * A function that returns the 32-byte SHA-256 of a message. The portable one is {@link sha256}; a node passes its native
 * one.
 */
export type Sha256 = (bytes: Uint8Array) => Uint8Array;

/** The portable SHA-256. */
export const sha256: Sha256 = (bytes) => nobleSha256(bytes);

/** `sha256:<64 lowercase hex>` of a message (specification, «Identifiers and formats»). */
export function hashOf(bytes: Uint8Array, sha: Sha256 = sha256): string {
  return formatHash(sha(bytes));
}

/** `sha256:<64 lowercase hex>` of an existing digest. Throws RangeError unless it has 32 bytes. */
export function formatHash(digest: Uint8Array): string {
  if (digest.length !== 32) throw new RangeError(`A SHA-256 digest has 32 bytes, not ${digest.length}.`);
  return `sha256:${toHex(digest)}`;
}

/** The 32 bytes of a hash text; null when the text is not one. */
export function parseHash(text: string): Uint8Array | null {
  return /^sha256:[0-9a-f]{64}$/.test(text) ? parseHex(text.slice(7)) : null;
}
