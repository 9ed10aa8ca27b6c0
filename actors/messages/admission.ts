// What a business answers about the admission of a push.
// Also holds, attempts at publishing and open uploads.

import type { Listings } from "../../protocol/price-shock.ts";
import type { HeldReason } from "../../protocol/wire/push.ts";
import type { DoneReply } from "./protocol.ts";

export type AdmitReply =
  | {
      readonly status: "admitted";
      readonly number: number;
      readonly held: boolean;
      readonly held_reasons: readonly HeldReason[];
      /** When the batch was received first, if the admission said so. */
      readonly received_at_ms?: number;
    }
  | { readonly status: "plan_stale"; readonly pending: readonly string[] }
  | {
      readonly status: "busy";
      readonly retry_after_seconds: number;
      /** Which limit of fair use is reached; absent for too many waiting pushes. */
      readonly reason?: "push_rate" | "records_unchanged" | "holds_waiting";
    }
  /** The business is not in a state in which it may publish. */
  | { readonly status: "refused"; readonly code: "business_not_verified"; readonly detail: string };

/** The generation that a record would get, and whether the record would be live before it. */
export type PlannedVersion = readonly [generation: number, live: boolean];

export type PreviewReply =
  | {
      readonly status: "admitted";
      readonly held_reasons: readonly HeldReason[];
      /** By the records of `plan.listings`, in their order. */
      readonly versions: readonly PlannedVersion[];
    }
  | Exclude<AdmitReply, { status: "admitted" }>;

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

// What a business actor answers about its listings, for the hold of a push that is decided after its admission.

export interface ListingsReply {
  /** Number of listings of live records. */
  readonly listings: number;
  /** The pushes that are numbered, not held and not finished, oldest first. */
  readonly pending: readonly string[];
  /** The reasons for which the push is held; null while it is not. */
  readonly held_reasons: readonly HeldReason[] | null;
  /** Those of the records that were ever published. */
  readonly records: readonly {
    readonly record_id: string;
    /** The business's own product id, if it has one. */
    readonly bpid: string | null;
    /** Empty for a record that is not live. */
    readonly listings: Listings;
    /** The last prices of its listings, also of those that are gone. */
    readonly former: Listings;
  }[];
}

// What a business actor keeps of the pushes of a business by time, and of the batches that were refused.

/** Why an attempt failed: its records, its seal, what its mandate allows in an hour or a day, or who may publish at all. */
export type AttemptCategory = "validation" | "seal" | "caps" | "authority";

/** A batch that was refused as a whole after its request was authenticated. */
export interface RefusedBatch {
  /** Unix milliseconds. */
  readonly at_ms: number;
  /** `ref_` and 24 lower-case hex digits. */
  readonly id: string;
  readonly category: AttemptCategory;
  readonly code: string;
  readonly reason: string | null;
  readonly detail: string;
  readonly type: string;
  readonly source: "api" | "bulk";
  readonly key_id: string;
  /** Null where the batch was refused before its records were read. */
  readonly records: number | null;
  /** Null where the batch was refused before its seal was found genuine. */
  readonly push_id: string | null;
  readonly seq: number | null;
}

/** How the records of a push ended. */
export interface EndedCounts {
  readonly accepted: number;
  readonly updated: number;
  readonly rejected: number;
}

/** A push that was admitted. */
export interface AdmittedPush {
  readonly at_ms: number;
  readonly id: string;
  /** The number of the admission, which the facts of the accepted push repeat. */
  readonly number: number;
  readonly records: number;
  /** Null until the push is over. */
  readonly counts: EndedCounts | null;
}

export type AttemptEntry =
  | { readonly kind: "push"; readonly push: AdmittedPush }
  | { readonly kind: "refused"; readonly refused: RefusedBatch };

/** Attempts are in the order of their time, then their id. */
export interface AttemptPlace {
  readonly at_ms: number;
  readonly id: string;
}

export interface AttemptsReply {
  /** Oldest first. */
  readonly entries: readonly AttemptEntry[];
  /** Whether there may be more behind them. */
  readonly more: boolean;
}

export interface KeepReply {
  /** `enough`: as many were kept in the last hour as are kept in an hour. */
  readonly status: "kept" | "enough";
}

/** The commands of a business actor that concern attempts. */
export interface AttemptsProtocol {
  /** Keeps what is known of a refused batch, unless enough were kept in this hour. */
  "refusal.keep"(command: { readonly refused: RefusedBatch }): KeepReply;
  /** Read-only: pushes and refused batches after a place and before an instant, oldest first. */
  "attempts.read"(command: {
    readonly after: AttemptPlace;
    readonly to_ms: number;
    readonly limit: number;
  }): AttemptsReply;
  /** Read-only: the business's own ids of its records. */
  "own_ids.read"(command: { readonly record_ids: readonly string[] }): {
    readonly own_ids: readonly (string | null)[];
  };
}

// How many uploads of a business are open: asked when one is issued, and told by the uploads themselves afterwards.

export type OpenReply =
  | { readonly status: "open" }
  /** Too many are open. */
  | { readonly status: "busy"; readonly retry_after_seconds: number };

export interface OpenUploadsProtocol {
  /** Asks for the place of an upload that is about to be issued, and ends at `until_ms` if it gets no file; repeatable. */
  "upload.open"(command: { readonly upload_id: string; readonly until_ms: number }): OpenReply;
  /** The upload has its file, which is kept until `until_ms` unless it is imported; repeatable. */
  "upload.keep"(command: { readonly upload_id: string; readonly until_ms: number }): DoneReply;
  /** The upload has no file any more, and gets none; repeatable. */
  "upload.close"(command: { readonly upload_id: string }): DoneReply;
}
