// The fast implementation of the crypto port: the platform's OpenSSL, and for Ed25519 the library of crypto/ed25519.ts.
//   N1. It accepts what protocol/keys/signatures.ts accepts and nothing else, whatever the library and its release: what they judge
//       differently is refused before. All are tested against the same vectors.
//   N2. A key is checked once and cached, up to `keysMax` keys; a refused key is cached as refused.
//   N3. `verify` never throws: whatever cannot be checked is not valid.

import { createPublicKey, hash, randomFillSync, verify as verifyNative } from "node:crypto";
import { parseBase64Url } from "../protocol/bytes.ts";
import { type PublicJwk, parsePublicJwk } from "../protocol/keys/jwk.ts";
import { hasSmallOrderR } from "../protocol/keys/signatures.ts";
import { BoundedMap } from "../std/bounded-map.ts";
import { noteWork } from "../std/work.ts";
import { type Ed25519Library, ed25519Library } from "./ed25519.ts";
import type { CryptoPort } from "./port.ts";

/** Maximum number of cached public keys; the least recently used one is evicted first. */
export const keysMax = 4096;

/** Signature lengths in bytes: RFC 8032 §5.1.6; RFC 7518 §3.4; FIPS 204 table 2. */
const signatureLengths = { OKP: 64, EC: 64, AKP: 3309 } as const;

/** Judges signatures by one key, of the key's length. May throw if a signature cannot be checked. */
type Judge = (message: Uint8Array, signature: Uint8Array) => boolean;

export const nativeCrypto = nativeCryptoWith(ed25519Library);

/** @internal for tests, which choose the library for Ed25519. */
export function nativeCryptoWith(library: () => Ed25519Library): CryptoPort {
  /** Key text → what judges by it, or null for a key whose signatures are never accepted; ordered by last use. */
  const judges = new BoundedMap<string, Judge | null>(keysMax);
  const judgeOf = (jwk: PublicJwk): Judge | null => {
    const value = jwk.kty === "OKP" ? jwk.x : jwk.kty === "EC" ? `${jwk.x}.${jwk.y}` : jwk.pub;
    // A value of one key type must never find a key of another type.
    const name = `${jwk.kty} ${value}`;
    const known = judges.get(name);
    if (known !== undefined) return known;
    const judge = importKey(jwk, library());
    judges.set(name, judge);
    return judge;
  };
  return {
    sha256,
    hmacSha256,
    verify: (jwk, message, signature) => {
      if (signature.length !== signatureLengths[jwk.kty]) return false;
      if (jwk.kty === "OKP" && hasSmallOrderR(signature)) return false;
      const judge = judgeOf(jwk);
      if (judge === null) return false;
      noteWork("signature", 1);
      noteWork("byte", message.length);
      try {
        return judge(message, signature);
      } catch {
        return false;
      }
    },
    randomBytes: (length) => randomFillSync(new Uint8Array(length)),
  };
}

/** Libraries accept small-order keys and encodings that are not canonical; the protocol's own parser refuses them. */
function importKey(jwk: PublicJwk, library: Ed25519Library): Judge | null {
  const sound = parsePublicJwk(jwk);
  if (!sound.ok) return null;
  try {
    if (sound.value.kty === "OKP") {
      const x = parseBase64Url(sound.value.x);
      return x === null ? null : library.verifierOf(x);
    }
    const key = createPublicKey({ key: { ...sound.value }, format: "jwk" });
    if (sound.value.kty === "AKP") return (message, signature) => verifyNative(null, message, key, signature);
    return (message, signature) =>
      verifyNative("sha256", message, { key, dsaEncoding: "ieee-p1363" }, signature);
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
