// Portable verification with noble, which runs in every browser. A node verifies natively; both agree on the vectors of
// Wycheproof and of CCTV.

import { ed25519 } from "@noble/curves/ed25519.js";
import { p256 } from "@noble/curves/nist.js";
import { sha512 } from "@noble/hashes/sha2.js";
import { ml_dsa65 } from "@noble/post-quantum/ml-dsa.js";
import { concatBytes, equalBytes, parseBase64Url, parseHex, toHex } from "./bytes.ts";
import { type PublicJwk, parseEd25519Point } from "./jwk.ts";

/**
 * Verifies a raw signature: Ed25519 (RFC 8032), ES256 as r‖s over SHA-256 (RFC 7518 §3.4), or ML-DSA-65 with an empty
 * context (FIPS 204). Never throws.
 */
export type SignatureVerifier = (jwk: PublicJwk, message: Uint8Array, signature: Uint8Array) => boolean;

/**
 * True only for a valid signature by an acceptable key: an Ed25519 key or R that is of small order or not canonical never
 * verifies (RFC 8032 §8.4).
 */
export const verifySignature: SignatureVerifier = (jwk, message, signature) => {
  try {
    if (jwk.kty === "OKP") return verifyEd25519(jwk.x, message, signature);
    if (jwk.kty === "EC") return verifyP256(jwk, message, signature);
    const key = parseBase64Url(jwk.pub);
    return key !== null && ml_dsa65.verify(signature, message, key);
  } catch {
    return false;
  }
};

/** The y of every point of small order, little-endian with the bit of x cleared; the last two are not canonical. */
const smallOrderYs: readonly Uint8Array[] = [
  new Uint8Array(32),
  new Uint8Array(32).with(0, 0x01),
  bytesOfHex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
  bytesOfHex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
  ...[0xec, 0xed, 0xee].map((first) => new Uint8Array(32).fill(0xff).with(0, first).with(31, 0x7f)),
];

/**
 * Whether the first half of an Ed25519 signature encodes a point of small order. Verifiers are of two minds about such an R (some
 * releases of OpenSSL take it and later ones do not), so it is refused before any of them is asked.
 */
export function hasSmallOrderR(signature: Uint8Array): boolean {
  return smallOrderYs.some((y) =>
    y.every((byte, at) => byte === ((signature[at] ?? 0) & (at === 31 ? 0x7f : 0xff))),
  );
}

function bytesOfHex(text: string): Uint8Array {
  const bytes = parseHex(text);
  if (bytes === null) throw new TypeError(`${text} is not hexadecimal.`);
  return bytes;
}

/**
 * Follows RFC 8032 §5.1.7 with the equation [S]B = R + [k]A, as OpenSSL does. `ed25519.verify` multiplies both sides by the
 * cofactor 8: the holder of a key can make signatures that satisfy only that form, and a seal must not be valid for one
 * verifier and invalid for another.
 */
function verifyEd25519(x: string, message: Uint8Array, signature: Uint8Array): boolean {
  const key = parseBase64Url(x);
  if (key?.length !== 32 || signature.length !== 64 || hasSmallOrderR(signature)) return false;
  const publicPoint = parseEd25519Point(key);
  const response = integerOf(signature.subarray(32));
  if (!publicPoint || !ed25519.Point.Fn.isValid(response)) return false;
  const commitment = signature.subarray(0, 32);
  const challenge = ed25519.Point.Fn.create(integerOf(sha512(concatBytes(commitment, key, message))));
  const expected = ed25519.Point.BASE.multiplyUnsafe(response).subtract(
    publicPoint.multiplyUnsafe(challenge),
  );
  return equalBytes(expected.toBytes(), commitment);
}

/** Decodes a little-endian integer (RFC 8032 §5.1.2). */
function integerOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${toHex(bytes.toReversed())}`);
}

function verifyP256(
  jwk: { readonly x: string; readonly y: string },
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  const x = parseBase64Url(jwk.x);
  const y = parseBase64Url(jwk.y);
  if (x?.length !== 32 || y?.length !== 32 || signature.length !== 64) return false;
  return p256.verify(signature, message, concatBytes(new Uint8Array([4]), x, y), { lowS: false });
}

/**
 * The 64 bytes r‖s of a DER-encoded P-256 signature as WebAuthn provides it (RFC 3279 §2.2.3); null when it is not strict
 * DER.
 */
export function derToRawP256(der: Uint8Array): Uint8Array | null {
  try {
    return p256.Signature.fromBytes(der, "der").toBytes("compact");
  } catch {
    return null;
  }
}
