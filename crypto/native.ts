// The fast implementation of the crypto port, based on the platform's OpenSSL.
//   N1. It accepts what protocol/keys/signatures.ts accepts and nothing else, whatever the release of OpenSSL: what releases judge
//       differently is refused before. Both are tested against the same vectors.
//   N2. A key is checked once and cached, up to `keysMax` keys; a refused key is cached as refused.
//   N3. `verify` never throws: whatever cannot be checked is not valid.

import { createPublicKey, hash, type KeyObject, randomFillSync, verify as verifyNative } from "node:crypto";
import { type PublicJwk, parsePublicJwk } from "../protocol/keys/jwk.ts";
import { hasSmallOrderR } from "../protocol/keys/signatures.ts";
import { BoundedMap } from "../std/bounded-map.ts";
import { noteWork } from "../std/work.ts";
import type { CryptoPort } from "./port.ts";

/** Maximum number of cached public keys; the least recently used one is evicted first. */
export const keysMax = 4096;

/** Signature lengths in bytes: RFC 8032 §5.1.6; RFC 7518 §3.4; FIPS 204 table 2. */
const signatureLengths = { OKP: 64, EC: 64, AKP: 3309 } as const;

/** Key text → imported key, or null for a key whose signatures are never accepted; ordered by last use. */
const keys = new BoundedMap<string, KeyObject | null>(keysMax);

export const nativeCrypto: CryptoPort = {
  sha256,
  hmacSha256,
  verify,
  randomBytes: (length) => randomFillSync(new Uint8Array(length)),
};

function verify(jwk: PublicJwk, message: Uint8Array, signature: Uint8Array): boolean {
  if (signature.length !== signatureLengths[jwk.kty]) return false;
  if (jwk.kty === "OKP" && hasSmallOrderR(signature)) return false;
  const key = keyOf(jwk);
  if (key === null) return false;
  noteWork("signature", 1);
  noteWork("byte", message.length);
  try {
    if (jwk.kty !== "EC") return verifyNative(null, message, key, signature);
    return verifyNative("sha256", message, { key, dsaEncoding: "ieee-p1363" }, signature);
  } catch {
    return false;
  }
}

function keyOf(jwk: PublicJwk): KeyObject | null {
  const value = jwk.kty === "OKP" ? jwk.x : jwk.kty === "EC" ? `${jwk.x}.${jwk.y}` : jwk.pub;
  // A value of one key type must never find a key of another type.
  const name = `${jwk.kty} ${value}`;
  const known = keys.get(name);
  if (known !== undefined) return known;
  const key = importKey(jwk);
  keys.set(name, key);
  return key;
}

/** OpenSSL accepts small-order keys and non-canonical encodings; the protocol's own parser refuses them. */
function importKey(jwk: PublicJwk): KeyObject | null {
  const sound = parsePublicJwk(jwk);
  if (!sound.ok) return null;
  try {
    return createPublicKey({ key: { ...sound.value }, format: "jwk" });
  } catch {
    return null;
  }
}

/** Through text, in which every character is a byte: a buffer of its own for each hash takes several times as long. */
function sha256(bytes: Uint8Array): Uint8Array {
  noteWork("hash", 1);
  noteWork("byte", bytes.length);
  const text = hash("sha256", bytes, "latin1");
  const digest = new Uint8Array(32);
  for (let at = 0; at < 32; at += 1) digest[at] = text.charCodeAt(at);
  return digest;
}

/** Bytes of a block of SHA-256. */
const blockBytes = 64;

/** Room for a block and a short message: bytes of their own for each code take as long as its hashes. */
const room = new Uint8Array(1_024);

/** RFC 2104, of two hashes: an object of the platform's own for each code takes three times as long. */
function hmacSha256(key: Uint8Array, bytes: Uint8Array): Uint8Array {
  const short = key.length > blockBytes ? sha256(key) : key;
  return sha256(keyed(short, 0x5c, sha256(keyed(short, 0x36, bytes))));
}

/** A block with the key, whose every byte is changed by `pad`, and the bytes after it; valid until the next call. */
function keyed(key: Uint8Array, pad: number, bytes: Uint8Array): Uint8Array {
  const length = blockBytes + bytes.length;
  const block = length > room.length ? new Uint8Array(length) : room.subarray(0, length);
  block.fill(pad, 0, blockBytes);
  for (let at = 0; at < key.length; at += 1) block[at] = (key[at] ?? 0) ^ pad;
  block.set(bytes, blockBytes);
  return block;
}
