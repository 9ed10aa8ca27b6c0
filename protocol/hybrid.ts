// Hybrid signatures: long-lived documents carry a P-256 and an ML-DSA-65 signature over the same bytes. Both are required,
// so that neither a break of elliptic curves nor a flaw in the younger scheme is enough for a forgery (specification,
// «Envelope»).

import { parseBase64 } from "./bytes.ts";
import { type Envelope, type EnvelopeSignature, openEnvelope, pae } from "./dsse.ts";
import { algorithmOf, type KeyAlgorithm, type PublicJwk } from "./jwk.ts";
import { ok, refuse, type Verdict } from "./result.ts";
import type { SignatureVerifier } from "./signatures.ts";

export const classicalAlgorithm: KeyAlgorithm = "ES256";
export const postQuantumAlgorithm: KeyAlgorithm = "ML-DSA-65";

/** The two signatures of a hybrid envelope, distinguished by the keys they name. */
export interface HybridSignatures {
  readonly classical: EnvelopeSignature;
  readonly postQuantum: EnvelopeSignature;
}

/**
 * Splits the signatures of a hybrid envelope by the algorithm of the key that each one names. `keyOf` returns the key with a
 * given id, or null. One half alone is `post_quantum_required`, an unknown key `key_unknown`, and a second signature for the
 * same half or a third of any kind `envelope_malformed`.
 */
export function splitHybrid(
  envelope: Envelope,
  keyOf: (keyId: string) => PublicJwk | null,
): Verdict<HybridSignatures> {
  const halves = new Map<KeyAlgorithm, EnvelopeSignature>();
  for (const signature of envelope.signatures) {
    const jwk = keyOf(signature.keyid);
    if (jwk === null) return refuse("key_unknown", `Key ${signature.keyid} may not sign this document.`);
    const algorithm = algorithmOf(jwk);
    if (halves.has(algorithm))
      return refuse("envelope_malformed", "The document is signed twice by the same kind of key.");
    halves.set(algorithm, signature);
  }
  const classical = halves.get(classicalAlgorithm);
  const postQuantum = halves.get(postQuantumAlgorithm);
  if (classical === undefined || postQuantum === undefined) {
    return refuse("post_quantum_required", "The document must carry a P-256 and an ML-DSA-65 signature.");
  }
  if (halves.size !== 2)
    return refuse("envelope_malformed", "The document carries a signature that its format does not have.");
  return ok({ classical, postQuantum });
}

export interface KeyPair {
  readonly classical: PublicJwk;
  readonly postQuantum: PublicJwk;
}

/** Verifies both halves over the pre-authentication encoding and returns the payload bytes. */
export function verifyHybrid(
  envelope: Envelope,
  check: {
    readonly payloadType: string;
    readonly signatures: HybridSignatures;
    readonly pair: KeyPair;
    readonly verify: SignatureVerifier;
  },
): Verdict<Uint8Array> {
  const payload = openEnvelope(envelope, check.payloadType);
  if (!payload.ok) return payload;
  const message = pae(envelope.payloadType, payload.value);
  const classical = verifyOne(check.verify, check.pair.classical, message, check.signatures.classical);
  const postQuantum = verifyOne(check.verify, check.pair.postQuantum, message, check.signatures.postQuantum);
  if (!classical || !postQuantum) return refuse("signature_invalid", "A signature does not verify.");
  return payload;
}

/**
 * Verifies one raw signature of an envelope; returns false for anything that is not the base64 of a signature, and for one with
 * the members of a passkey's, which nothing would vouch for.
 */
export function verifyOne(
  verify: SignatureVerifier,
  jwk: PublicJwk,
  message: Uint8Array,
  signature: EnvelopeSignature,
): boolean {
  const bytes = parseBase64(signature.sig);
  return signature.authenticatorData === undefined && bytes !== null && verify(jwk, message, bytes);
}
