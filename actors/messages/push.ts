// What is said to a push actor: one per push_id. A push is a sealed batch (path A), or one record sealed alone (path B).

import type { CollectionName } from "../../protocol/identifiers.ts";
import type {
  HeldReason,
  PublishOutcome,
  PushCounts,
  RecordFault,
  RecordOutcome,
} from "../../protocol/wire/push.ts";
import type { Commands, DoneReply } from "./protocol.ts";

export type { PublishOutcome, PushCounts, RecordFault, RecordOutcome };

export type PushState = "received" | "queued" | "processing" | "held" | "complete" | "failed";

/** Facts of a push that never change; small, kept in the machine's context. */
export interface PushFacts {
  readonly push_id: string;
  readonly business_uuid: string;
  readonly path: "A" | "B";
  /** Integration key, passkey or hosted key that sealed. */
  readonly key_id: string;
  /** What kind of key sealed: a system's under a mandate, a person's passkey, or one held by the service. */
  readonly sealer: "system" | "passkey" | "hosted";
  readonly collection: CollectionName;
  /** 0 on path B. */
  readonly seq: number;
  readonly source: "api" | "bulk" | "manual";
  readonly mode: "inline" | "queued";
  readonly records: number;
  readonly cert_id: string;
  readonly ai_policy_version: number;
  readonly sealed_at: string;
  readonly received_at: string;
  readonly mandate_id: string | null;
  /** Countries that the mandate allows; null for no limit (path B). */
  readonly countries: readonly string[] | null;
  /**
   * Names that the business might say when the push was accepted, folded; bounded in bytes, for they are part of the
   * machine's context. Absent on pushes that were accepted while no name was protected: all names count as its own.
   */
  readonly own_names?: readonly string[];
  /** Place among the pushes, withdrawals and deletions of the business. */
  readonly number: number;
}

/** A row change by reference. */
export interface RowReference {
  readonly record_id: string;
  readonly generation: number;
  readonly hash: string;
  readonly change: number;
}

export interface PushProtocol {
  "push.accept"(command: {
    readonly facts: PushFacts;
    readonly held_reasons: readonly HeldReason[];
    /** Unix milliseconds. Later it is refused: what was staged may be gone. */
    readonly accept_by_ms: number;
  }): AcceptReply;
  /** Answer of the chunk activity. `unindexed` names regions whose index must be told again. */
  "chunk.settle"(command: {
    readonly chunk: number;
    readonly outcomes: readonly PublishOutcome[];
    readonly references: readonly RowReference[];
    readonly unindexed: readonly string[];
  }): DoneReply;
  "chunk.indexed"(command: { readonly chunk: number; readonly region: string }): DoneReply;
  /** Read-only: rows of a settled chunk, for an index that must be told again. */
  "push.references"(command: { readonly chunk: number }): ReferencesReply;
  "push.fail"(command: { readonly code: string; readonly detail: string }): DoneReply;
  "hold.release"(command: { readonly confirmed: boolean }): DoneReply;
  /** Read-only. */
  "push.status"(command: {
    readonly outcome: RecordOutcome | null;
    readonly from_leaf: number;
    readonly limit: number;
  }): PushReport | null;
  /** As `push.status`, answered once every record is settled, or the push is held or failed. */
  "push.await"(): PushReport | null;
}

export type PushCommand = Commands<PushProtocol>;

/** Null when no such push was accepted. */
export interface PushReport {
  readonly facts: PushFacts;
  readonly state: PushState;
  readonly held_reasons: readonly HeldReason[];
  readonly counts: PushCounts;
  /** Records settled so far. */
  readonly settled: number;
  readonly stalled: boolean;
  readonly updated_at: string;
  readonly completed_at: string | null;
  readonly error: { readonly code: string; readonly detail: string } | null;
  readonly results: readonly PublishOutcome[];
  /** Leaf at which the next page starts; null on the last page. */
  readonly next_leaf: number | null;
}

/** Rows of a settled chunk whose indexes must be told again; none when all have confirmed. */
export interface ReferencesReply extends DoneReply {
  readonly references: readonly RowReference[];
}

export type AcceptReply =
  | {
      readonly status: "accepted" | "known";
      readonly state: PushState;
      /** Of a queued push that was just accepted, as `push.status` would tell; nodes of earlier releases send none. */
      readonly report?: PushReport;
    }
  | { readonly status: "late" };
