// Whether a seal is valid when it is received: in time, and by a key, a certificate, an AI policy and a mandate in
// force. Pure: it judges what the home actor reported.
//   J1. Whatever a verifier judges is judged by the verifier's own functions, in their order, so that what is published
//       verifies, and what is refused for its seal is refused by everybody with the same reason.
//   J2. What only the receiver of a seal can know (when it arrived, what was in force then) is refused in addition, and
//       reported as such.

import type { KeyFacts, PublishingFacts } from "../actors/messages/business.ts";
import { parseTimestamp } from "../protocol/identifiers.ts";
import { type Mandate, scopeAllows } from "../protocol/mandate.ts";
import { ok, type Refusal, type Result, refuse, type Verdict } from "../protocol/result.ts";
import { type SealV2, sealedAtSkewMs } from "../protocol/seal.ts";
import { certificateAt, type Issuances } from "../verifier/certificate.ts";
import { windowFault } from "../verifier/key-window.ts";
import { judgePolicyVersion } from "../verifier/policy-timeline.ts";
import type { Refused } from "./answer.ts";
import { timelineOf } from "./home-evidence.ts";
import type { PushSeal } from "./publish-batch.ts";
import { type SealReason, sealRefused } from "./seal-refused.ts";

export interface StandingQuestion {
  readonly facts: PublishingFacts;
  /** The certificates of the business, as far back as the seal needs. */
  readonly issuances: Issuances;
  readonly mandate: Mandate;
  readonly key: KeyFacts;
  readonly nowMs: number;
}

/**
 * Judges the seal as of the moment of sealing: its key, certificate, AI policy version and mandate. Done only for a push
 * that was not accepted before. Verifiers judge the seal by `sealed_at`, so what was not in force then is refused even
 * if it is now.
 */
export function checkStanding(seal: PushSeal, question: StandingQuestion): Refused | null {
  const judged = judgeStanding(seal, question);
  return judged.ok ? null : standingRefused(judged, question.facts, "Seal the batch again.");
}

/** The refusal of a seal that is not in force, naming what is in force instead. */
export function standingRefused(
  { code, detail }: Refusal<SealReason>,
  facts: PublishingFacts,
  advice: string,
): Refused {
  return sealRefused(code, `${detail} ${advice}`, {
    ...(isAboutCertificate(code) && facts.certificate ? { cert_id: facts.certificate.cert_id } : {}),
    ...(code === "ai_policy_version_mismatch" ? { ai_policy_version: facts.policy.version } : {}),
  });
}

function isAboutCertificate(code: SealReason): boolean {
  return (
    code === "certificate_not_in_force" || code === "certificate_unknown" || code === "certificate_withdrawn"
  );
}

function judgeStanding(seal: PushSeal, question: StandingQuestion): Result<unknown, SealReason> {
  const { facts, issuances, mandate, key, nowMs } = question;
  const inTime = receivedInTime(seal, nowMs);
  if (!inTime.ok) return inTime;
  const fault = windowFault(key, seal.sealed_at);
  if (fault !== null) return fault;
  const certificate = certificateAt(issuances, seal);
  if (!certificate.ok) return certificate;
  const policy = judgePolicyVersion(timelineOf(facts.policy), seal.ai_policy_version, seal.sealed_at);
  if (!policy.ok) return policy;
  const scope = scopeAllows(mandate, {
    business_uuid: key.party_uuid,
    key_id: seal.key_id,
    record_type: seal.record_type,
    // Judged for each record separately, when it is published.
    countries: [],
    at: seal.sealed_at,
  });
  return scope.ok ? namesWhatIsInForce(seal, facts) : scope;
}

/** Everyone judges by `sealed_at`, so it cannot be chosen freely: it must be close to when the seal was received. */
export function receivedInTime(
  seal: { readonly sealed_at: string },
  nowMs: number,
): Result<void, "sealed_at_skew"> {
  const sealedAt = parseTimestamp(seal.sealed_at);
  return sealedAt !== null && Math.abs(nowMs - sealedAt) <= sealedAtSkewMs
    ? ok(undefined)
    : refuse("sealed_at_skew", "sealed_at must be within five minutes of receipt.");
}

/**
 * A seal that is valid by its `sealed_at` is still refused if another certificate or AI policy came into force before it
 * was received.
 */
export function namesWhatIsInForce(
  seal: Pick<SealV2, "cert_id" | "ai_policy_version">,
  { certificate, policy }: PublishingFacts,
): Verdict<void> {
  if (certificate?.cert_id !== seal.cert_id) {
    return refuse("certificate_not_in_force", "The seal names a certificate other than the one in force.");
  }
  return policy.version === seal.ai_policy_version
    ? ok(undefined)
    : refuse("ai_policy_version_mismatch", "The AI policy version that the seal names is not in force.");
}

/** Whether the business was verified once, whatever became of its certificate. */
export function judgeCertified({
  party,
  certificate,
}: PublishingFacts): Result<void, "business_not_verified"> {
  return party?.kind === "business" && certificate !== null
    ? ok(undefined)
    : refuse("business_not_verified", "Only a business that was certified has published anything.");
}

export function judgeVerified({
  party,
  certificate,
}: PublishingFacts): Result<void, "business_not_verified"> {
  return party?.kind === "business" && certificate?.status === "active"
    ? ok(undefined)
    : refuse("business_not_verified", "Only a business with an active certificate may publish.");
}
