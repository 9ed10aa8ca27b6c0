// Private keys as JWK, the form in which files hold them: RFC 8037 (`d`), RFC 7518 §6.2.2 (`d`), RFC 9964 (`priv`, the
// 32-byte seed).

import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import { parseBase64Url } from "../protocol/bytes.ts";
import { type KeyAlgorithm, type PublicJwk, parsePublicJwk } from "../protocol/jwk.ts";
import { ok, type Result, refuse } from "../protocol/result.ts";

export type PrivateJwk =
  | (Extract<PublicJwk, { kty: "OKP" | "EC" }> & { readonly d: string })
  | (Extract<PublicJwk, { kty: "AKP" }> & { readonly priv: string });

/** The length in bytes of every private member: an Ed25519 seed, a P-256 scalar, an ML-DSA seed. */
const secretLength = 32;

/** Generates a new key pair from the platform's randomness. */
export function generatePrivateJwk(algorithm: KeyAlgorithm): PrivateJwk {
  const parsed = parsePrivateJwk(generate(algorithm).export({ format: "jwk" }));
  if (!parsed.ok) throw new Error(`the platform made a key that we refuse: ${parsed.detail}`);
  return parsed.value;
}

/** The PKCS #8 encoding of an Ed25519 key up to its seed (RFC 8410, section 7). */
const ed25519Prefix = Uint8Array.fromHex("302e020100300506032b657004220420");

/** The Ed25519 key for a 32-byte seed. */
export function ed25519OfSeed(seed: Uint8Array): PrivateJwk {
  if (seed.length !== secretLength) throw new RangeError(`An Ed25519 seed has ${secretLength} bytes.`);
  const key = createPrivateKey({
    key: Buffer.concat([ed25519Prefix, seed]),
    format: "der",
    type: "pkcs8",
  });
  const parsed = parsePrivateJwk(key.export({ format: "jwk" }));
  if (!parsed.ok) throw new Error(`the platform made a key that we refuse: ${parsed.detail}`);
  return parsed.value;
}

function generate(algorithm: KeyAlgorithm): KeyObject {
  if (algorithm === "Ed25519") return generateKeyPairSync("ed25519").privateKey;
  if (algorithm === "ES256") return generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  return generateKeyPairSync("ml-dsa-65").privateKey;
}

/**
 * Reads a private key. It is also `jwk_malformed` if its public half does not belong to its private half: nobody could
 * verify what such a key signs.
 */
export function parsePrivateJwk(value: unknown): Result<PrivateJwk, "jwk_malformed"> {
  if (value === null || typeof value !== "object") return refuse("jwk_malformed", "A JWK must be an object.");
  const { d, priv, ...rest } = value as Record<string, unknown>;
  const publicHalf = parsePublicJwk(rest);
  if (!publicHalf.ok) return publicHalf;
  const isAkp = publicHalf.value.kty === "AKP";
  const secret = isAkp ? priv : d;
  if (typeof secret !== "string" || (isAkp ? d : priv) !== undefined) {
    return refuse("jwk_malformed", `The private member is ${isAkp ? "priv" : "d"}, and there is one.`);
  }
  if (parseBase64Url(secret)?.length !== secretLength) {
    return refuse("jwk_malformed", `The private member is base64url of ${secretLength} bytes.`);
  }
  const jwk = { ...publicHalf.value, [isAkp ? "priv" : "d"]: secret } as PrivateJwk;
  return belongsTogether(jwk) ? ok(jwk) : refuse("jwk_malformed", "The two halves of the key do not match.");
}

/** The public half of the key, without the private member. */
export function publicHalfOf(jwk: PrivateJwk): PublicJwk {
  if (jwk.kty === "AKP") return { kty: jwk.kty, alg: jwk.alg, pub: jwk.pub };
  if (jwk.kty === "EC") return { kty: jwk.kty, crv: jwk.crv, x: jwk.x, y: jwk.y };
  return { kty: jwk.kty, crv: jwk.crv, x: jwk.x };
}

/** Imports a private key for signing. */
export function privateKeyOf(jwk: PrivateJwk): KeyObject {
  return createPrivateKey({ key: { ...jwk }, format: "jwk" });
}

/** The platform's import checks this too; signing here does not depend on how strictly it does. */
function belongsTogether(jwk: PrivateJwk): boolean {
  try {
    const digest = jwk.kty === "EC" ? "sha256" : null;
    const probe = new Uint8Array(secretLength);
    const publicKey = createPublicKey({ key: { ...publicHalfOf(jwk) }, format: "jwk" });
    return verify(digest, probe, publicKey, sign(digest, probe, privateKeyOf(jwk)));
  } catch {
    return false;
  }
}
