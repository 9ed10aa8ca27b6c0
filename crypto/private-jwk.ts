// Private keys as JWK, the form in which files hold them: RFC 8037 (`d`), RFC 7518 §6.2.2 (`d`), RFC 9964 (`priv`, the
// 32-byte seed).

import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  sign as signNative,
  verify,
} from "node:crypto";
import { parseBase64Url } from "../protocol/bytes.ts";
import { type KeyAlgorithm, type PublicJwk, parsePublicJwk, thumbprint } from "../protocol/keys/jwk.ts";
import { ok, type Result, refuse } from "../protocol/result.ts";
import { unpackMessages } from "../protocol/signed-version.ts";
import { noteWork } from "../std/work.ts";
import type { Signer } from "./port.ts";

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
const ed25519Prefix = Buffer.from("302e020100300506032b657004220420", "hex");

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

// A signer over a private key that this process holds.
// Signing runs on the platform's thread pool. Measured with 400 messages of 600 bytes on two cores, Ed25519 / ES256:
// in a loop 11.3 / 9.6 ms, all of it on the event loop; on the pool 7.5 / 5.5 ms, of which 1.7 ms on the event loop;
// in a worker thread of its own 12.4 ms. ML-DSA-65: 305 ms in a loop, 152 ms on the pool.

/** Signatures of one call that may wait in the pool at once: more would crowd out everybody else's work. */
const inPoolMax = 256;

/** Makes a signer from a private key. Ed25519 signatures are deterministic, the others are not. */
export function createSigner(jwk: PrivateJwk): Signer {
  const publicJwk = publicHalfOf(jwk);
  const key = privateKeyOf(jwk);
  const isEs256 = jwk.kty === "EC";
  const digest = isEs256 ? "sha256" : null;
  const options = isEs256 ? ({ key, dsaEncoding: "ieee-p1363" } as const) : key;
  const sign = (message: Uint8Array): Promise<Uint8Array> => signInPool(digest, message, options);
  return {
    keyId: thumbprint(publicJwk),
    publicJwk,
    sign,
    async signMany(packed) {
      const messages = unpackMessages(packed);
      if (messages.length <= inPoolMax) return Promise.all(messages.map(sign));
      const signatures: Uint8Array[] = [];
      for (let first = 0; first < messages.length; first += inPoolMax) {
        signatures.push(...(await Promise.all(messages.slice(first, first + inPoolMax).map(sign))));
      }
      return signatures;
    },
  };
}

function signInPool(
  digest: "sha256" | null,
  message: Uint8Array,
  key: KeyObject | { readonly key: KeyObject; readonly dsaEncoding: "ieee-p1363" },
): Promise<Uint8Array> {
  noteWork("hash", 1);
  noteWork("byte", message.length);
  return new Promise((resolve, reject) => {
    signNative(digest, message, key, (error, signature) => {
      if (error !== null) reject(error);
      else resolve(new Uint8Array(signature.buffer, signature.byteOffset, signature.length));
    });
  });
}
