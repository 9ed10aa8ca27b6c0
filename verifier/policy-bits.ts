// AI policy bits: whether the masks on a row match the booleans that the business sealed.

import {
  type AiPolicyRecord,
  type BlockedName,
  blockedNames,
  namesOf,
  type PolicyBits,
  parseAiPolicy,
  parsePolicyBits,
  policyBits,
  purchaseBit,
} from "../protocol/ai-policy.ts";
import type { JsonValue } from "../protocol/json/canonical-json.ts";
import type { Verdict } from "../protocol/reason-codes.ts";
import { ok, refuse } from "../protocol/result.ts";
import { type SealEvidence, verifySeal } from "./seal.ts";
import type { SealReport } from "./seal-report.ts";
import type { Trust } from "./trust.ts";

export interface PolicyBitsReport {
  readonly bits: PolicyBits;
  /** Contexts in which the business does not want to appear. */
  readonly blocked: readonly BlockedName[];
  /** Whether the purchase bit is withheld even though the sealed record grants it. */
  readonly isPurchaseWithheld: boolean;
  /** Null for version 0, which has no seal. */
  readonly seal: SealReport | null;
}

/**
 * Verifies the served bits against the sealed AI policy record from which they derive. `policy` is null when the caller
 * has none, which is acceptable only for version 0. Refuses with `ai_policy_bits_mismatch` for any bit that the record
 * does not imply (only purchase may be withheld) and for bits of version 0 that permit anything, with
 * `ai_policy_version_mismatch` when the seal creates a version other than the one the bits name (including 0), and with
 * the reasons of seals.
 */
export function verifyPolicyBits(
  trust: Trust,
  value: JsonValue,
  policy: Omit<SealEvidence, "document"> | null,
): Verdict<PolicyBitsReport> {
  const bits = parsePolicyBits(value);
  if (!bits.ok) return bits;
  if (bits.value.ai_policy_version === 0) {
    const none = judgeNoPolicy(bits.value);
    if (!none.ok || policy === null) return none;
  }
  if (policy === null)
    return refuse("ai_policy_bits_mismatch", "The bits come from a sealed AI policy that is not given.");
  const seal = verifySeal(trust, { ...policy, document: "ai_policy" });
  if (!seal.ok) return seal;
  if (seal.value.ai_policy_version !== bits.value.ai_policy_version) {
    return refuse(
      "ai_policy_version_mismatch",
      "The seal creates another AI policy version than the bits name.",
    );
  }
  const record = parseAiPolicy(policy.bytes);
  return record.ok ? judgeBits(bits.value, record.value, seal.value) : record;
}

function judgeNoPolicy(bits: PolicyBits): Verdict<PolicyBitsReport> {
  if (bits.use !== 0 || bits.action !== 0 || bits.blocked !== 0) {
    return refuse(
      "ai_policy_bits_mismatch",
      "Without a sealed AI policy nothing is permitted, and no bit is set.",
    );
  }
  return ok({ bits, blocked: [], isPurchaseWithheld: false, seal: null });
}

function judgeBits(bits: PolicyBits, record: AiPolicyRecord, seal: SealReport): Verdict<PolicyBitsReport> {
  const sealed = policyBits(record);
  const isPurchaseWithheld = bits.action !== sealed.action && bits.action === (sealed.action & ~purchaseBit);
  const agrees =
    bits.ai_policy_schema === sealed.ai_policy_schema &&
    bits.use === sealed.use &&
    bits.blocked === sealed.blocked &&
    (bits.action === sealed.action || isPurchaseWithheld);
  if (!agrees) return refuse("ai_policy_bits_mismatch", "The bits are not those of the sealed booleans.");
  return ok({ bits, blocked: namesOf(blockedNames, bits.blocked), isPurchaseWithheld, seal });
}
