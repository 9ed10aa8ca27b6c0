// SHA-256 (FIPS 180-4) and the specification's hash text `sha256:<64 lowercase hex>`.

import { sha256 as nobleSha256 } from "@noble/hashes/sha2.js";
import { parseHex, toHex } from "./bytes.ts";

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
