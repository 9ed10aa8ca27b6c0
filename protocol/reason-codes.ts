// Why evidence proves nothing, in the words that every verifier shares.

import type { Result } from "./result.ts";

/** Specification, «Errors», verification reason codes. */
export const reasonCodes = [
  "hash_mismatch",
  "inclusion_invalid",
  "signature_invalid",
  "key_mismatch",
  "key_unknown",
  "key_not_valid",
  "key_compromised",
  "payload_type_mismatch",
  "envelope_malformed",
  "payload_malformed",
  "version_unknown",
  "record_type_mismatch",
  "certificate_not_in_force",
  "certificate_withdrawn",
  "certificate_unknown",
  "ai_policy_version_mismatch",
  "ai_policy_bits_mismatch",
  "out_of_scope",
  "key_event_missing",
  "post_quantum_required",
  "trust_chain_broken",
  "row_signature_invalid",
  "projection_unknown",
  "receipt_caller_mismatch",
  "receipt_row_mismatch",
  "checkpoint_invalid",
  "consistency_invalid",
  "entitlement_expired",
  "entitlement_invalid",
] as const;

export type ReasonCode = (typeof reasonCodes)[number];

/** The outcome of verifying evidence: what it proves, or why it proves nothing. */
export type Verdict<T> = Result<T, ReasonCode>;
