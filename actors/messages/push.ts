// The commands of a push actor. There is one for each push_id. A push is a sealed batch (path A), or one
// record sealed alone (path B).

import type { CollectionName } from "../../protocol/identifiers.ts";
import type { JsonObject } from "../../protocol/json/canonical-json.ts";
import type {
  HeldReason,
  HoldDecided,
  PublishOutcome,
  PushCounts,
  RecordFault,
  RecordOutcome,
} from "../../protocol/wire/push.ts";
import type { Commands, DoneReply } from "./protocol.ts";

/** A leaf that was judged and accepted. */
export interface AcceptedLeaf {
  /** Absent where it is to be read from the leaf's bytes again. */
  readonly record?: JsonObject;
  readonly recordId: string;
  /** The content lists by which it was judged (`listsInForce`). */
  readonly judgedBy: string;
}

export type { HoldDecided, PublishOutcome, PushCounts, RecordFault, RecordOutcome };

export type PushState = "received" | "queued" | "processing" | "held" | "complete" | "failed";

export interface StagedFileFacts {
  readonly upload_id: string;
  /** The name of the file in the staging area. */
  readonly name: string;
  /** `sha256:<hex>`: the sealed root over its records. */
  readonly root: string;
}

/** A mandate as its push keeps it. */
export interface PushMandate {
  readonly mandate_id: string;
  /** The key that sealed it. */
  readonly sealed_by: string;
  readonly countries: readonly string[];
}

/** The facts of a push that never change. They are small and kept in the machine's context. */
export interface PushFacts {
  readonly push_id: string;
  readonly business_uuid: string;
  readonly path: "A" | "B";
  /** The integration key, passkey or hosted key that sealed the push. */
  readonly key_id: string;
  /** The kind of key that sealed the push: a system's under a mandate, a person's passkey, or one held by the service. */
  readonly sealer: "system" | "passkey" | "hosted";
  readonly collection: CollectionName;
  /** Always 0 on path B. */
  readonly seq: number;
  readonly source: "api" | "bulk" | "manual";
  readonly mode: "inline" | "queued";
  readonly records: number;
  readonly cert_id: string;
  readonly ai_policy_version: number;
  readonly sealed_at: string;
  readonly received_at: string;
  /**
   * The mandates that allow the type and the source, the newest first: a record needs one that alone allows its countries. Null on
   * path B, where nothing is limited.
   */
  readonly mandates: readonly PushMandate[] | null;
  /**
   * The names, case-folded, that the business was allowed to use when the push was accepted. Their size in bytes is bounded,
   * because they are part of the machine's context.
   */
  readonly own_names: readonly string[];
  /** The uploaded file that contains the records; absent if they came with the request, and are staged with the push. */
  readonly file?: StagedFileFacts;
  /** The push's position among the pushes, withdrawals and deletions of the business. */
  readonly number: number;
}

/** A reference to a row change. */
export interface RowReference {
  readonly record_id: string;
  readonly generation: number;
  readonly hash: string;
  readonly change: number;
}

/**
 * The outcome of a leaf. One that was rejected says which record it names, if that could be read: no text of a record is kept
 * with a push, and the business knows its own id of it.
 */
export interface SettledOutcome extends PublishOutcome {
  readonly names?: string;
}

/** What a push knows of a result besides the result itself. */
export interface ResultDetails {
  /** The record that a rejected leaf names; null where the record was published, or its own id cannot be read. */
  readonly names: string | null;
  /** Null where the leaf is not settled. */
  readonly settled_at_ms: number | null;
}

export interface PushProtocol {
  "push.accept"(command: {
    readonly facts: PushFacts;
    readonly held_reasons: readonly HeldReason[];
    /** How long a hold waits for a decision, in milliseconds; absent for the default. */
    readonly hold_ms?: number;
    /** `sha256:<hex>` of the canonical seal, for the log. */
    readonly seal_leaf: string;
    /** Unix milliseconds. After this instant the push is refused, because its staged bytes may be gone. */
    readonly accept_by_ms: number;
  }): AcceptReply;
  /** The result of the activity that decides the hold of a push whose records are in a file. */
  "push.prepared"(command: {
    readonly held_reasons: readonly HeldReason[];
    /** How long the hold waits for a decision; absent for the default. */
    readonly hold_ms?: number;
  }): DoneReply;
  /** The result of the chunk activity. `unindexed` names the regions whose index must be notified again. */
  "chunk.settle"(command: {
    readonly chunk: number;
    readonly outcomes: readonly SettledOutcome[];
    readonly references: readonly RowReference[];
    readonly unindexed: readonly string[];
    /** Why the chunk was given up, if it was: the push then ends as failed. */
    readonly failed?: { readonly code: string; readonly detail: string };
  }): DoneReply;
  /** All leaves of a chunk of a push that is to be held: each is `held`, or rejected with its reasons. Repeating it replaces them. */
  "chunk.judge"(command: { readonly chunk: number; readonly outcomes: readonly SettledOutcome[] }): DoneReply;
  /** The result of the activity that judges a push before it is held: how many leaves of each chunk are rejected. */
  "push.judged"(command: { readonly rejected: readonly number[] }): DoneReply;
  /** Read-only: what is known of the leaves of a chunk that is not settled. */
  "chunk.findings"(command: { readonly chunk: number }): FindingsReply;
  /**
   * The leaves of a chunk that are rejected, before anything of the chunk is stored. They keep their reasons, however the
   * chunk ends; repeating it changes nothing.
   */
  "chunk.reject"(command: {
    readonly chunk: number;
    readonly outcomes: readonly SettledOutcome[];
  }): DoneReply;
  "chunk.indexed"(command: { readonly chunk: number; readonly region: string }): DoneReply;
  /** Read-only: the rows of a settled chunk, for an index that must be notified again. */
  "push.references"(command: { readonly chunk: number }): ReferencesReply;
  /** It is decided that nothing of the push is published: by the business, or by an operator. */
  "push.cancelled"(command: { readonly by_operator?: true }): DoneReply;
  /** A deleted record is purged: the reasons of a hold that came before the deletion name it no more. */
  "push.forget"(command: {
    readonly record_id: string;
    /** The place of the deletion among the pushes and removals of the business. */
    readonly number: number;
  }): ForgottenReply;
  "push.fail"(command: { readonly code: string; readonly detail: string }): DoneReply;
  "hold.release"(command: HoldRelease): DoneReply;
  /** Read-only: the report of a push, with one page of its outcomes. */
  "push.status"(command: {
    readonly outcome: RecordOutcome | null;
    readonly from_leaf: number;
    readonly limit: number;
    /** True for the results' {@link ResultDetails} as well. */
    readonly details?: boolean;
  }): PushReport | null;
  /** Like `push.status`, but answered only once every record is settled, or the push is held or failed. */
  "push.await"(command: {
    /** Answers a held push only once it is over, and not as held. */
    readonly until?: "over";
  }): PushReport | null;
  /** Like `push.status`, but answered only once the push is not held any more. */
  "hold.await"(): PushReport | null;
}

export type PushCommand = Commands<PushProtocol>;

/** What the business tells a held push once its hold was decided. */
export interface HoldRelease {
  /** Whether the push is published now. */
  readonly confirmed: boolean;
  /** Who decided what, and when. */
  readonly decision: HoldDecided;
  /** Why it is not published, unless the decision was to reject it. */
  readonly error?: { readonly code: string; readonly detail: string };
}

/** Null if no such push was accepted. */
export interface PushReport {
  readonly facts: PushFacts;
  readonly state: PushState;
  readonly held_reasons: readonly HeldReason[];
  /** When the hold ends if nobody decides; null unless the push is held. */
  readonly hold_expires_at: string | null;
  readonly hold_decision: HoldDecided | null;
  readonly counts: PushCounts;
  /** Number of records settled so far. */
  readonly settled: number;
  readonly stalled: boolean;
  readonly updated_at: string;
  readonly completed_at: string | null;
  readonly error: { readonly code: string; readonly detail: string } | null;
  readonly results: readonly PublishOutcome[];
  /** Of each result, if they were asked for. */
  readonly details?: readonly ResultDetails[];
  /** The leaf at which the next page starts; null on the last page. */
  readonly next_leaf: number | null;
}

/** The rows of a settled chunk whose indexes must be notified again; empty once all have confirmed. */
/** `early`: the push has no reasons yet, and those that the business decided on may still reach it with what they name. */
export type ForgottenReply = DoneReply | { readonly status: "early" };

export interface ReferencesReply extends DoneReply {
  readonly references: readonly RowReference[];
}

export interface FindingsReply extends DoneReply {
  readonly outcomes: readonly SettledOutcome[];
}

export type AcceptReply =
  | {
      readonly status: "accepted" | "known";
      readonly state: PushState;
      /** The report of a queued push that was just accepted, as `push.status` would return it. */
      readonly report?: PushReport;
    }
  | { readonly status: "late" };
