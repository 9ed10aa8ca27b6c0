// The caller's key. It never leaves the process: the client passes it messages and receives signatures.

import { type Envelope, makeEnvelope, pae, payloadTypes } from "../protocol/dsse.ts";
import { isHash, isUuidV4 } from "../protocol/identifiers.ts";
import { type PublicJwk, parsePublicJwk, thumbprint } from "../protocol/keys/jwk.ts";
import { type KeyPossession, keyChallengeOf, keyPossessionPayload } from "../protocol/keys/key-directory.ts";
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

// A key proves to those who register it whose it is.

/** A key's own proof that it is to be registered for this party, in this role, on this challenge (base64url). */
export async function provePossession(
  key: SigningKey,
  claim: { readonly uuid: string; readonly role: KeyPossession["role"]; readonly challenge: string },
): Promise<Envelope> {
  const { uuid: party_uuid, role, challenge } = claim;
  const payload = keyPossessionPayload({ v: 1, party_uuid, key_id: key.keyId, role, challenge });
  const type = payloadTypes["key-possession.v1"];
  return makeEnvelope(type, payload, [{ keyid: key.keyId, sig: await key.sign(pae(type, payload)) }]);
}

/** What an operator registers a key from. */
export interface ProvenKey {
  readonly party_uuid: string;
  readonly public_key: PublicJwk;
  readonly proof: Envelope;
}

/**
 * Proves a key to the operator who registers it: for a business's pushes and reads (`integration`), or an AI company's questions
 * (`retrieval`). Refuses a UUID that is not of version 4, and a certificate that is not named as `sha256:…`.
 */
export async function proveToOperator(
  key: SigningKey,
  claim: { readonly uuid: string; readonly role: "integration" | "retrieval"; readonly certId: string },
): Promise<Result<ProvenKey, "claim_malformed">> {
  const { uuid, role, certId } = claim;
  if (!isUuidV4(uuid))
    return refuse("claim_malformed", "The UUID of a party is of version 4, in lower case.");
  if (!isHash(certId)) return refuse("claim_malformed", "A certificate is named by its cert_id, sha256:….");
  const proof = await provePossession(key, { uuid, role, challenge: keyChallengeOf(certId) });
  return ok({ party_uuid: uuid, public_key: key.publicJwk, proof });
}
