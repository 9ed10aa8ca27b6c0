// What is served of a business beside what it sealed: how old its keys are, and its AI policy with its own seal.

import type { BusinessKeys } from "../protocol/keys/business-keys.ts";
import { sealedAtSkewMs } from "../protocol/limits.ts";
import type { Verdict } from "../protocol/reason-codes.ts";
import { ok, refuse } from "../protocol/result.ts";
import { type CertificateHistory, instantOf } from "./certificate.ts";
import type { FetchedPolicy } from "./fetched-record.ts";
import type { PolicyTimeline } from "./policy-timeline.ts";
import { verifySeal } from "./seal.ts";
import type { SealReport } from "./seal-report.ts";
import type { Trust } from "./trust.ts";

/** What is verified about the business whose policy it is. */
export interface ServedBusiness {
  readonly certificates: CertificateHistory;
  readonly keys: BusinessKeys;
}

/** How far the published data of the business may lag behind the answer: caches of up to a day are legitimate. */
const lagMs = 86_400_000;

/** Why the keys say nothing about the moment when the answer was served; null when they do, or that moment is not known. */
export function staleness({ issued_at: issuedAt }: BusinessKeys, servedAt: string | null): string | null {
  if (servedAt === null || instantOf(issuedAt) >= instantOf(servedAt) - lagMs) return null;
  return `They are as of ${issuedAt}, more than a day before the answer was served (${servedAt}): what was revoked since is not in them.`;
}

/**
 * An answer carries only the AI policy in force when it was served, not the earlier ones. If that policy is invalid, or
 * the answer states that there is none, it says nothing about the record's seal.
 */
export function timelineOf(policy: Verdict<SealReport | null>): PolicyTimeline | null {
  if (!policy.ok || policy.value === null || policy.value.ai_policy_version === null) return null;
  const { ai_policy_version: version, sealed_at: from } = policy.value;
  return { versions: [{ version, live_from: from }], isComplete: false, uncertainMs: sealedAtSkewMs };
}

/** The seal of the AI policy; null if the answer states that there is none. */
export function policySeal(
  trust: Trust,
  policy: FetchedPolicy,
  business: ServedBusiness,
): Verdict<SealReport | null> {
  if (policy.version === 0) return ok(null);
  if (policy.bytes === null) return refuse("payload_malformed", "The AI policy record is missing.");
  const sealed = { bytes: policy.bytes, seal: policy.seal };
  const seal = verifySeal(trust, { ...business, document: "ai_policy", ...sealed });
  return seal.ok && seal.value.ai_policy_version !== policy.version
    ? refuse(
        "ai_policy_version_mismatch",
        "The seal creates another AI policy version than the answer names.",
      )
    : seal;
}
