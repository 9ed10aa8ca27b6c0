// The checks of a pushed batch, in the specification's order («Publish behaviour» 1): mandate, caps, verified
// business, batch seal, Merkle root, certificate, AI policy version. Pure: they judge what the home actor said.

import type { KeyFacts, MandateFacts, PublishingFacts } from "../actors/messages/business.ts";
import type { CryptoPort } from "../crypto/port.ts";
import { parseBase64 } from "../protocol/bytes.ts";
import { type Envelope, openEnvelope, pae, payloadTypes } from "../protocol/dsse.ts";
import { parseTimestamp } from "../protocol/identifiers.ts";
import type { PublicJwk } from "../protocol/jwk.ts";
import { type Problem, type ProblemExtras, problem } from "../protocol/problem.ts";
import type { ReasonCode } from "../protocol/result.ts";
import { type BatchSealV2, parseBatchSealV2, sealedAtSkewMs } from "../protocol/seal.ts";
import { addressAllowed } from "./source-address.ts";

export type Mandate = Omit<MandateFacts, "envelope">;

/** A pushed batch is always sealed in the current format. */
export type PushSeal = BatchSealV2;

export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: Problem };

export function sealRefusal(
  reason: ReasonCode | "sealed_at_skew",
  detail: string,
  extra: ProblemExtras = {},
): Checked<never> {
  return { ok: false, problem: problem("seal_invalid", detail, { reason, ...extra }) };
}

/** The mandate that lets this key publish this collection now, from this address. */
export function findMandate(
  facts: PublishingFacts,
  request: { readonly collection: string; readonly sourceIp: string | null; readonly nowMs: number },
): Checked<Mandate> {
  if (facts.key !== "live")
    return { ok: false, problem: problem("key_unknown", "The key is not registered, or was revoked.") };
  const mandate = facts.mandates.find((candidate) => isInForce(candidate, request.nowMs));
  if (!mandate) {
    return {
      ok: false,
      problem: problem(
        "mandate_missing",
        "No mandate in force lets this key publish. An owner or admin seals one.",
      ),
    };
  }
  const { scope } = mandate;
  if (!scope.record_types.includes(request.collection) || !scope.directions.includes("publish")) {
    return {
      ok: false,
      problem: problem("out_of_scope", `The mandate does not cover publishing ${request.collection}.`),
    };
  }
  const allowList = scope.source_ip_allow_list;
  if (allowList !== null && (request.sourceIp === null || !addressAllowed(request.sourceIp, allowList))) {
    return {
      ok: false,
      problem: problem(
        "source_not_allowed",
        "The request came from outside the mandate's source allow-list.",
      ),
    };
  }
  return { ok: true, value: mandate };
}

/** Whether a mandate is in its time and not revoked. */
export function isInForce(mandate: Mandate, nowMs: number): boolean {
  const from = parseTimestamp(mandate.valid_from);
  const until = parseTimestamp(mandate.valid_until);
  return mandate.revoked_at === null && from !== null && until !== null && from <= nowMs && nowMs < until;
}

/** The batch seal itself: payload type, payload, key and signature. Says nothing about records or standing yet. */
export function openBatchSeal(
  envelope: Envelope,
  key: KeyFacts,
  crypto: CryptoPort,
): Checked<{ readonly seal: PushSeal; readonly payload: Uint8Array }> {
  const opened = openEnvelope(envelope, payloadTypes["batch-seal.v2"]);
  if (!opened.ok) return sealRefusal(opened.code, opened.detail);
  const parsed = parseBatchSealV2(opened.value);
  if (!parsed.ok) return sealRefusal(parsed.code, parsed.detail);
  const seal: PushSeal = parsed.value;
  if (seal.key_id !== key.key_id)
    return sealRefusal("key_mismatch", "The seal's key_id is not the key that signed the request.");
  const [signature, ...more] = envelope.signatures;
  if (!signature || more.length > 0 || signature.keyid !== key.key_id) {
    return sealRefusal("key_mismatch", "A batch seal carries exactly one signature, by its key_id.");
  }
  if (signature.authenticatorData !== undefined) {
    return sealRefusal("envelope_malformed", "A system's key signs plainly; only a passkey adds members.");
  }
  const sig = parseBase64(signature.sig);
  if (
    !sig ||
    !crypto.verify(key.public_key as unknown as PublicJwk, pae(envelope.payloadType, opened.value), sig)
  ) {
    return sealRefusal("signature_invalid", "The batch seal's signature does not verify.");
  }
  return { ok: true, value: { seal, payload: opened.value } };
}

export interface StandingQuestion {
  readonly facts: PublishingFacts;
  readonly mandate: Mandate;
  readonly key: KeyFacts;
  readonly nowMs: number;
}

/**
 * Certificate and AI policy version in force, and when it was sealed: judged only for a push not accepted before.
 * Whoever verifies the seal judges by `sealed_at`, so what was not in force then is refused although it is now.
 */
export function checkStanding(seal: PushSeal, question: StandingQuestion): Checked<null> {
  const { facts, mandate, key, nowMs } = question;
  if (facts.certificate?.cert_id !== seal.cert_id) {
    return sealRefusal(
      "certificate_not_in_force",
      "The seal names a certificate other than the one in force.",
      {
        ...(facts.certificate ? { cert_id: facts.certificate.cert_id } : {}),
      },
    );
  }
  if (seal.ai_policy_version !== facts.policy.version) {
    return sealRefusal(
      "ai_policy_version_mismatch",
      "The AI policy version that the seal names is not in force.",
      {
        ai_policy_version: facts.policy.version,
      },
    );
  }
  // Timestamps are of one fixed width, so their text orders as their instants do.
  if (facts.policy.live_from !== null && seal.sealed_at < facts.policy.live_from) {
    const since = `AI policy version ${facts.policy.version} is in force since ${facts.policy.live_from}`;
    return sealRefusal("ai_policy_version_mismatch", `${since}, after sealed_at; seal the batch again.`, {
      ai_policy_version: facts.policy.version,
    });
  }
  const sealedAt = parseTimestamp(seal.sealed_at);
  if (sealedAt === null || Math.abs(nowMs - sealedAt) > sealedAtSkewMs) {
    return sealRefusal(
      "sealed_at_skew",
      "sealed_at must be within five minutes of receipt; seal the batch again.",
    );
  }
  if (seal.sealed_at < key.valid_from || (key.valid_until !== null && seal.sealed_at >= key.valid_until)) {
    return sealRefusal("key_not_valid", "The key was not valid at sealed_at; seal the batch again.");
  }
  if (!isInForce(mandate, sealedAt)) {
    return sealRefusal("out_of_scope", "The mandate was not in force at sealed_at; seal the batch again.");
  }
  return { ok: true, value: null };
}

export function checkVerified(facts: PublishingFacts): Checked<null> {
  if (facts.party?.kind === "business" && facts.certificate?.status === "active")
    return { ok: true, value: null };
  return {
    ok: false,
    problem: problem("business_not_verified", "Only a business with an active certificate publishes."),
  };
}
