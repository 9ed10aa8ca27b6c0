// Port: where actors keep their journals. Every implementation passes storage/actor-store.conformance.ts.
//
// An actor's partition is a head (epoch, owner, head, op, snapshot) and rows keyed (rt, k, k2).
// Obligations of an implementation:
//   S1. `claim` raises the epoch by one, and no commit of a lower epoch is applied after it returned. Only where S5 could
//       not be kept, because what held the actor is lost for good, it begins a new era (see {@link eraOf}).
//   S2. `commit` is all or nothing, and applied only if epoch, head and op are those that it expects.
//   S3. The same commit (same `op`) sent again after an unknown outcome is applied at most once; when it is
//       found applied already, the answer is `applied`.
//   S4. An `applied` answer survives the loss of the process and, as configured, of the machine's power.
//   S5. `claim` returns everything committed before it: nothing acknowledged is ever missing.
//   S6. A row with `expiresAtMs` may be forgotten after that instant and must not be before it.
//   S7. `dueActors` finds every actor whose last commit gave a wake-up time at or before the instant asked for.

import type { ActorRef } from "../actors/messages/refs.ts";

/** Epochs of one era: more than an actor is ever claimed. */
const epochsPerEra = 2 ** 32;
/** Commits by which the head is raised with an era: more than can have been lost. */
const headsLost = 2 ** 32;

/**
 * How often the actor went on without its last commits, because what held them was lost. Whatever it numbered before may
 * be known elsewhere although it is not known here; what is numbered from now on is held apart from it by the era.
 */
export function eraOf(epoch: number): number {
  return Math.floor(epoch / epochsPerEra);
}

/** Epoch and head of the activation that begins the era after that of `last`. */
export function nextEra(last: Pick<ActorHead, "epoch" | "head">): Pick<ActorHead, "epoch" | "head"> {
  return { epoch: (eraOf(last.epoch) + 1) * epochsPerEra, head: last.head + headsLost };
}

export type { ActorRef };

/** Tables inside a partition. Numbers from 16 up belong to the actor kind itself («keyed rows»). */
export const rowTable = { event: 1, outbox: 2, timer: 3, inbox: 4, firstKeyed: 16 } as const;

export interface PartitionRow {
  /** Table, see {@link rowTable}. */
  readonly rt: number;
  /** Numeric key: a safe integer, at least 0. */
  readonly k: number;
  /** Text key, may be empty. */
  readonly k2: string;
  /** JSON text. */
  readonly body: string;
  /** Unix milliseconds after which the store may forget the row (S6). */
  readonly expiresAtMs?: number;
}

export type RowKey = Pick<PartitionRow, "rt" | "k" | "k2">;

export interface ActorHead {
  /** Counts the activations; 0 before the first. */
  readonly epoch: number;
  /** The node incarnation that claimed the epoch. */
  readonly owner: string;
  /** Sequence number of the last commit; 0 before the first. */
  readonly head: number;
  /** Operation id of the last commit; empty before the first. */
  readonly op: string;
  /** Sequence of the last event that the snapshot contains. */
  readonly snapshotSeq: number;
  /** JSON text of the persisted machine snapshot; null before the first one. */
  readonly snapshot: string | null;
  /** Schema version that the snapshot and events were written with. */
  readonly schemaVersion: number;
}

/** What a claim returns: enough to rebuild the actor in memory. */
export interface Activation {
  readonly head: ActorHead;
  /** Events after the snapshot, ascending by `k`. */
  readonly events: readonly PartitionRow[];
  readonly outbox: readonly PartitionRow[];
  readonly timers: readonly PartitionRow[];
  readonly inbox: readonly PartitionRow[];
}

export interface ActorCommit {
  readonly ref: ActorRef;
  /** The epoch claimed by the writer. */
  readonly epoch: number;
  /** Head and operation id that must be in force. The commit makes the head `expectedHead + 1`. */
  readonly expectedHead: number;
  readonly expectedOp: string;
  /** Unique id of this commit (S3). */
  readonly op: string;
  readonly puts: readonly PartitionRow[];
  readonly deletes: readonly RowKey[];
  /** Replaces the snapshot; events with `k <= seq` are pruned in the same commit. */
  readonly snapshot?: { readonly seq: number; readonly body: string; readonly schemaVersion: number };
  /** Unix milliseconds at which the actor must be woken although nobody calls it; null for never (S7). */
  readonly wakeAtMs: number | null;
}

export type CommitOutcome =
  | { readonly status: "applied" }
  /** Another activation owns the actor, or its head is not the expected one. The writer stops at once. */
  | { readonly status: "refused"; readonly epoch: number; readonly head: number; readonly op: string };

/** Rows of one table of a partition: by exact text keys (any `k`), or all of them up to `limit` in (k, k2) order after `after`. */
export type RowSelection =
  | { readonly rt: number; readonly keys: readonly string[] }
  | {
      readonly rt: number;
      readonly after?: { readonly k: number; readonly k2: string };
      readonly limit: number;
    };

export interface ActorStore {
  /** Takes the actor over. Throws {@link StoreError}. */
  claim(ref: ActorRef, owner: string): Promise<Activation>;
  /** Throws {@link StoreError}; `unknown` is settled by resending the same commit or claiming again (A5). */
  commit(commit: ActorCommit): Promise<CommitOutcome>;
  /** Keyed rows of the partition. By-key selections answer in no particular order; expired rows may be included. */
  readRows(ref: ActorRef, selections: readonly RowSelection[]): Promise<readonly PartitionRow[]>;
  /**
   * The head without claiming; null when the actor has never existed. What was agreed on is in it, even where no other
   * read would show it yet: whoever drops what an actor was never told of relies on that.
   */
  readHead(ref: ActorRef): Promise<ActorHead | null>;
  /** At most `limit` actors with a wake-up time at or before `nowMs`, earliest first (S7). */
  dueActors(nowMs: number, limit: number): Promise<readonly { ref: ActorRef; wakeAtMs: number }[]>;
  /** Known actors of a kind in id order, for operators: at most `limit` after `afterId`. */
  listActors(kind: string, afterId: string, limit: number): Promise<readonly string[]>;
}

/** Infrastructure failure of a store call. `unknown` means reload and look, never a blind retry. */
export class StoreError extends Error {
  readonly effect: "not_applied" | "unknown";
  constructor(effect: "not_applied" | "unknown", message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StoreError";
    this.effect = effect;
  }
}
