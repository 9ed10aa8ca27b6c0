// What is said of a seal: of one that stands what it proves, of one that is refused what it claims, and of both which
// checks were made. A claim is under a name of its own, so that nobody takes it for something that was verified.

import type { BusinessKey } from "../protocol/business-keys.ts";
import type { Ok, ReasonCode, Refusal, Verdict } from "../protocol/result.ts";
import type { BatchSeal, InclusionSeal, Seal } from "../protocol/seal.ts";
import type { Sidecar } from "../protocol/sidecar.ts";

/** `not_checked`: there was no evidence for the check, or an earlier one had failed. */
export type CheckState = "ok" | "missing" | "not_checked";

export interface SealChecks {
  readonly certificate: "ok" | "failed" | "not_checked";
  readonly ai_policy: "ok" | "failed" | "not_checked";
  readonly scope: "ok" | "failed" | "not_checked";
  /** `missing` with and without `key_event_missing`: whether that refuses the seal was the caller's choice. */
  readonly key_event: CheckState;
}

/** The place in its batch that a record seal names. */
export interface SealedLeaf {
  readonly index: number;
  readonly tree_size: number;
  readonly root: string;
}

interface SealMembers {
  readonly format: 1 | 2;
  readonly key_id: string;
  readonly cert_id: string;
  readonly sealed_at: string;
  readonly record_type: string;
  /** Null under format 1. */
  readonly ai_policy_version: number | null;
  /** Null under format 2. */
  readonly terms_version: number | null;
  /** Null for a record sealed alone. */
  readonly leaf: SealedLeaf | null;
}

/** What a seal that stands proves. */
export interface SealReport extends SealMembers {
  readonly path: "A" | "B";
  readonly key_kind: BusinessKey["kind"];
  /** Hash of the bytes. */
  readonly hash: string;
  readonly checks: SealChecks;
  /**
   * What the sidecar that was given is worth; null where none was. Only one that stands, and is about these bytes under
   * this seal, counted as evidence.
   */
  readonly sidecar: Verdict<Sidecar> | null;
}

/** What the text of a seal says. Nothing vouches for it. */
export interface SealClaims extends SealMembers {
  /** Null for a batch: it names a root. */
  readonly hash: string | null;
}

/** A refusal of a seal: why, what the seal claims, and how far the checks came. */
export interface SealRefusal extends Refusal<ReasonCode> {
  /** As read, believed by nobody; null where the envelope or its payload could not be read. */
  readonly claimed: SealClaims | null;
  readonly checks: SealChecks;
}

export type SealVerdict = Ok<SealReport> | SealRefusal;

export type OpenedSeal =
  | { readonly kind: "single"; readonly payload: Seal }
  | { readonly kind: "batch"; readonly payload: BatchSeal; readonly inclusion: InclusionSeal };

export const nothingChecked: SealChecks = {
  certificate: "not_checked",
  ai_policy: "not_checked",
  scope: "not_checked",
  key_event: "not_checked",
};

/** What a seal claims, as it was read. */
export function sealClaims(seal: OpenedSeal): SealClaims {
  const { payload } = seal;
  return {
    format: payload.v,
    key_id: payload.key_id,
    cert_id: payload.cert_id,
    sealed_at: payload.sealed_at,
    record_type: payload.record_type,
    ai_policy_version: payload.v === 2 ? payload.ai_policy_version : null,
    terms_version: payload.v === 1 ? payload.terms_version : null,
    leaf:
      seal.kind === "single"
        ? null
        : {
            index: seal.inclusion.leaf_index,
            tree_size: seal.inclusion.tree_size,
            root: seal.payload.root,
          },
    hash: seal.kind === "single" ? seal.payload.hash : null,
  };
}
