// The caller's key. It never leaves the process: the client passes it messages and receives signatures.

import { type PublicJwk, parsePublicJwk, thumbprint } from "../protocol/keys/jwk.ts";
import { ok, type Result, refuse } from "../protocol/result.ts";

export interface SigningKey {
  /** RFC 7638 thumbprint of the public key. */
  readonly keyId: string;
  readonly publicJwk: PublicJwk;
  /** Returns the raw signature: Ed25519 over the message, or ES256 as r‖s over its SHA-256. */
  sign(message: Uint8Array): Promise<Uint8Array>;
}

/**
 * Imports a private JWK (Ed25519 or P-256, RFC 7517) into WebCrypto as a non-extractable key. Members other than `kty`,
 * `crv`, `x`, `y` and `d` are ignored. Refuses with `jwk_malformed`.
 */
export async function parseSigningKey(privateJwk: unknown): Promise<Result<SigningKey, "jwk_malformed">> {
  if (privateJwk === null || typeof privateJwk !== "object") {
    return refuse("jwk_malformed", "A private key is a JWK object.");
  }
  const { d, ...others } = privateJwk as Record<string, unknown>;
  if (typeof d !== "string")
    return refuse("jwk_malformed", "The JWK does not have the private member d.", "/d");
  const publicJwk = parsePublicJwk(others);
  if (!publicJwk.ok) return publicJwk;
  const algorithm = webCryptoAlgorithm(publicJwk.value);
  if (algorithm === null) return refuse("jwk_malformed", "A caller's key is Ed25519 or P-256.", "/kty");
  const jwk = { ...publicJwk.value, d };
  try {
    const key = await crypto.subtle.importKey("jwk", jwk, algorithm.key, false, ["sign"]);
    return ok({
      keyId: thumbprint(publicJwk.value),
      publicJwk: publicJwk.value,
      sign: async (message) =>
        new Uint8Array(await crypto.subtle.sign(algorithm.sign, key, message.slice().buffer)),
    });
  } catch {
    // WebCrypto reports only «DataError»: the private member is not a key on this curve, or does not match this public key.
    return refuse("jwk_malformed", "The private member d does not belong to this public key.", "/d");
  }
}

function webCryptoAlgorithm(jwk: PublicJwk) {
  if (jwk.kty === "OKP") return { key: { name: "Ed25519" }, sign: { name: "Ed25519" } };
  if (jwk.kty === "EC") {
    return { key: { name: "ECDSA", namedCurve: "P-256" }, sign: { name: "ECDSA", hash: "SHA-256" } };
  }
  return null;
}

export type GeneratedAlgorithm = "Ed25519" | "ES256";

/** A new private JWK with exactly the members of its type (Ed25519: RFC 8037 §2; P-256: RFC 7518 §6.2). */
export async function generatePrivateJwk(alg: GeneratedAlgorithm): Promise<Readonly<Record<string, string>>> {
  const algorithm = alg === "Ed25519" ? { name: "Ed25519" } : { name: "ECDSA", namedCurve: "P-256" };
  const pair = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  if (!("privateKey" in pair)) throw new Error("WebCrypto gave no key pair.");
  const { kty, crv, x, y, d } = await crypto.subtle.exportKey("jwk", pair.privateKey);
  if (!kty || !crv || !x || !d) throw new Error("WebCrypto gave an incomplete key.");
  return y === undefined ? { kty, crv, x, d } : { kty, crv, x, y, d };
}
