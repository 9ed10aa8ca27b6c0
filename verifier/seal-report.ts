// What is reported about a seal: what a valid seal proves, what a refused one claims, and for both, which checks were
// made. Claims have a name of their own, so that nobody mistakes them for verified facts.

import type { BusinessKey } from "../protocol/keys/business-keys.ts";
import type { ReasonCode, Verdict } from "../protocol/reason-codes.ts";
import type { Ok, Refusal } from "../protocol/result.ts";
import type { BatchSeal, InclusionSeal, Seal } from "../protocol/seal.ts";
import type { Sidecar } from "../protocol/signed-version.ts";

/** `not_checked` means that there was no evidence for the check. */
export type CheckState = "ok" | "missing" | "not_checked";

export interface SealChecks {
  readonly certificate: "ok" | "failed" | "not_checked";
  readonly ai_policy: "ok" | "failed" | "not_checked";
  readonly scope: "ok" | "failed" | "not_checked";
  /** `missing`, with or without a refusal `key_event_missing`: whether it refuses the seal is the caller's choice. */
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
  /** Null for a record that was sealed alone. */
  readonly leaf: SealedLeaf | null;
}

/** What a valid seal proves. */
export interface SealReport extends SealMembers {
  readonly path: "A" | "B";
  readonly key_kind: BusinessKey["kind"];
  /** The hash of the bytes. */
  readonly hash: string;
  readonly checks: SealChecks;
  /**
   * The verdict on the given sidecar; null if none was given. A sidecar counts as evidence only if it is valid and
   * concerns these bytes under this seal.
   */
  readonly sidecar: Verdict<Sidecar> | null;
}

/** What the text of a seal says, unverified. */
export interface SealClaims extends SealMembers {
  /** Null for a batch, which names a root instead. */
  readonly hash: string | null;
}

/** The refusal of a seal: the reason, what the seal claims, and each named check of it. */
export interface SealRefusal extends Refusal<ReasonCode> {
  /** The claims as read, unverified; null if the envelope or its payload could not be read. */
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

/** What a seal claims, as read. */
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
