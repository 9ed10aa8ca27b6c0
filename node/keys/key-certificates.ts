// Key certificates: what a pair of keys attests about another key.

import type { Signer } from "../../crypto/port.ts";
import { type Envelope, payloadTypes } from "../../protocol/dsse.ts";
import type { Anchors } from "../../protocol/keys/anchors.ts";
import { algorithmOf } from "../../protocol/keys/jwk.ts";
import {
  type CertifiedKey,
  type KeyUse,
  keyCertificatePayload,
  parseKeyCertificate,
} from "../../protocol/keys/key-set.ts";
import type { Verdict } from "../../protocol/reason-codes.ts";
import { ok } from "../../protocol/result.ts";
import { signEnvelope } from "../../service/register/service-keys.ts";

export type Pair = readonly [classical: Signer, postQuantum: Signer];

/** A key, or both halves of a pair, for which its owner requests a certificate. */
export interface KeyRequest {
  readonly use: KeyUse;
  /** Null unless the use is `receipt`. */
  readonly region: string | null;
  readonly keys: readonly CertifiedKey[];
  readonly valid_from: string;
  readonly valid_until: string | null;
}

export function certifiedKeyOf({ keyId, publicJwk }: Signer): CertifiedKey {
  return { key_id: keyId, alg: algorithmOf(publicJwk), public_key: publicJwk };
}

/**
 * Refuses with `payload_malformed` a request that no certificate can express. Whether the issuer may certify it is for the
 * verifier to judge.
 */
export async function certify(
  request: KeyRequest,
  issuer: Pair,
  at: { readonly environment: Anchors["environment"]; readonly issuedAt: string },
): Promise<Verdict<Envelope>> {
  const payload = keyCertificatePayload({
    v: 1,
    ...request,
    issuer: issuer.map((half) => half.keyId),
    issued_at: at.issuedAt,
    compromised_from: null,
    ...(at.environment === "sandbox" ? { sandbox: true } : {}),
  });
  const read = parseKeyCertificate(payload);
  if (!read.ok) return read;
  return ok(await signEnvelope(payloadTypes["key-certificate.v1"], payload, issuer));
}

/** Both halves of a root, in the form in which anchors pin them. */
export function rootAnchors(classical: CertifiedKey, postQuantum: CertifiedKey): Anchors["roots"] {
  return [
    { ...classical, pair: postQuantum.key_id },
    { ...postQuantum, pair: classical.key_id },
  ];
}
