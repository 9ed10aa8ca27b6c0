// The decision on a held push, as the business's actor takes, keeps and answers it.

/** What a held push was sealed with, which is judged again when its hold is confirmed. */
export interface HeldPush {
  readonly key_id: string;
  readonly mandate_ids: readonly string[];
  readonly cert_id: string;
  readonly ai_policy_version: number;
}

/** A decision whose signature was verified. */
export interface SealedDecision {
  /** The passkey that sealed it. */
  readonly key_id: string;
  /** As sealed. */
  readonly at: string;
  /** The envelope as JSON text. */
  readonly envelope: string;
}

/** The decision on a hold, as it is kept for ever. */
export interface KeptDecision extends SealedDecision {
  readonly confirmed: boolean;
  /** When the business accepted it. */
  readonly decided_at: string;
  /** Why a confirmed push is not published. */
  readonly fault: HoldFault | null;
}

/** Why a held push cannot be published any more, although it was confirmed. */
export interface HoldFault {
  readonly code: HoldFaultCode;
  readonly detail: string;
}

export type HoldFaultCode =
  | "business_not_verified"
  | "key_revoked"
  | "mandate_revoked"
  | "certificate_not_in_force"
  | "ai_policy_version_mismatch";

export type HoldReply =
  | { readonly status: "done" }
  | {
      readonly status: "refused";
      /** `hold_decided`: the other decision stands. `sealed_at_skew`: sealed too early or too late. */
      readonly code: "hold_unknown" | "hold_decided" | "sealed_at_skew";
      readonly detail: string;
    };

export interface HoldsReply {
  readonly holds: readonly { readonly push_id: string; readonly number: number }[];
}
