// The two shapes in which an expected outcome is answered. Infrastructure failures and bugs are thrown,
// never answered this way (CONTRIBUTING.md, «Errors: three kinds»).

/** Outcome of reading something untrusted or asking for something that may be refused. */
export type Result<T, C extends string = string> = Ok<T> | Refusal<C>;

export interface Ok<T> {
  readonly ok: true;
  readonly value: T;
}

export interface Refusal<C extends string = string> {
  readonly ok: false;
  /** Stable, documented code. */
  readonly code: C;
  /** One sentence for a person: what is wrong and, where it helps, what to do. */
  readonly detail: string;
  /** RFC 6901 pointer to the offending place, where there is one. */
  readonly pointer?: string;
}

/** The answer where nothing stood in the way. */
export function ok<T>(value: T): Ok<T> {
  return { ok: true, value };
}

/** The answer where something expected did: `detail` is for a person, callers decide by `code` alone. Both texts are bounded. */
export function refuse<C extends string>(code: C, detail: string, pointer?: string): Refusal<C> {
  const bounded = boundedText(detail);
  return pointer === undefined
    ? { ok: false, code, detail: bounded }
    : { ok: false, code, detail: bounded, pointer: boundedPointer(pointer) };
}

/** UTF-16 code units of a sentence, and of a pointer, that is told to somebody who may have sent its words himself. */
export const detailLengthMax = 512;
export const pointerLengthMax = 512;

/** The text, cut where it is longer than {@link detailLengthMax}. */
export function boundedText(text: string): string {
  return text.length <= detailLengthMax ? text : `${text.slice(0, detailLengthMax - 2).toWellFormed()} …`;
}

/** The pointer, or that of the nearest container whose pointer is short enough: what is left still points somewhere. */
export function boundedPointer(pointer: string): string {
  if (pointer.length <= pointerLengthMax) return pointer;
  return pointer.slice(0, pointer.lastIndexOf("/", pointerLengthMax));
}

/** The reasons a verifier gives, shared by every verifier (specification, «Errors», verification reason codes). */
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

/** Outcome of verifying evidence: what it proves, or why it proves nothing. */
export type Verdict<T> = Result<T, ReasonCode>;
