// Port: the store of the actors' journals. Every implementation passes storage/actor-store.conformance.ts.
//
// An actor's partition consists of a head (epoch, owner, head, op, snapshot) and rows keyed (rt, k, k2).
// Obligations of an implementation:
//   S1. `claim` raises the epoch by one, and no commit of a lower epoch is applied after it has returned. The one
//       exception: where S5 cannot be kept, because what held the actor is lost for good, `claim` starts a new era (see
//       {@link eraOf}).
//   S2. `commit` is all or nothing, and is applied only if epoch, head and op are the ones that it expects.
//   S3. A commit that is resent (same `op`) after an unknown outcome is applied at most once; if it had already been
//       applied, the answer is `applied`.
//   S4. An `applied` answer survives the loss of the process and, as configured, a loss of power on the machine.
//   S5. `claim` returns everything committed before it: nothing acknowledged is ever missing.
//   S6. A row with `expiresAtMs` may be forgotten after that instant and must not be forgotten before it.
//   S7. `dueActors` finds every actor whose last commit set a wake-up time at or before the requested instant.
//   S8. A commit that forgets the actor leaves nothing of it: from then on it has never existed. Forgetting an actor that is not
//       there is `applied`. So that S1 holds for a later actor of the same name, its first epoch is one that its claimer chose
//       above all earlier ones.
//   S9. Where the store creates actors, a commit that `creates` one is applied only to an actor that never existed, and claims it for its
//       owner with the epoch that it names. Of any other actor it is refused like a commit of a former epoch.
//   S10. Where the store joins commits, a commit and those `with` it are applied together or not at all. Whether they were applied is
//       decided by the first (S3): one of the others counts only where the first could be applied now.

import type { ActorRef } from "../actors/messages/refs.ts";

/** Epochs in one era: more than the number of times an actor is ever claimed. */
const epochsPerEra = 2 ** 32;
/** How far the head leaps with a new era: more commits than can have been lost. */
const headsLost = 2 ** 32;

/**
 * The number of times the actor continued without its last commits because what held them was lost. Numbers that it
 * assigned before then may be known elsewhere although they are not known here; the era keeps the numbers assigned from
 * now on apart from them.
 */
export function eraOf(epoch: number): number {
  return Math.floor(epoch / epochsPerEra);
}

/** Epoch and head of the activation that starts the era after that of `last`. */
export function nextEra(last: Pick<ActorHead, "epoch" | "head">): Pick<ActorHead, "epoch" | "head"> {
  return { epoch: (eraOf(last.epoch) + 1) * epochsPerEra, head: last.head + headsLost };
}

export type { ActorRef };

/**
 * Tables inside a partition. Numbers from 16 up belong to the actor kind («keyed rows»). `activation` has a row for each of the
 * newest activations that wrote anything; only operators read it, so `claim` does not return it.
 */
export const rowTable = { event: 1, outbox: 2, timer: 3, inbox: 4, activation: 5, firstKeyed: 16 } as const;

export interface PartitionRow {
  /** The table, see {@link rowTable}. */
  readonly rt: number;
  /** Numeric key: a safe integer, at least 0. */
  readonly k: number;
  /** Text key; it may be empty. */
  readonly k2: string;
  /** JSON text. */
  readonly body: string;
  /** Unix milliseconds after which the store may forget the row (S6). */
  readonly expiresAtMs?: number;
}

export type RowKey = Pick<PartitionRow, "rt" | "k" | "k2">;

export interface ActorHead {
  /** The number of activations so far; 0 before the first. */
  readonly epoch: number;
  /** The node incarnation that claimed the epoch. */
  readonly owner: string;
  /** Sequence number of the last commit; 0 before the first. */
  readonly head: number;
  /** Operation id of the last commit; empty before the first. */
  readonly op: string;
  /** Sequence number of the last event that the snapshot contains. */
  readonly snapshotSeq: number;
  /** JSON text of the persisted machine snapshot; null before the first one. */
  readonly snapshot: string | null;
  /** Schema version that the snapshot and events were written with. */
  readonly schemaVersion: number;
}

/** What a claim returns: enough to rebuild the actor in memory. */
export interface Activation {
  readonly head: ActorHead;
  /** Events after the snapshot, in ascending order of `k`. */
  readonly events: readonly PartitionRow[];
  readonly outbox: readonly PartitionRow[];
  readonly timers: readonly PartitionRow[];
  readonly inbox: readonly PartitionRow[];
}

export interface ActorCommit {
  readonly ref: ActorRef;
  /** The epoch claimed by the writer. */
  readonly epoch: number;
  /** The head and operation id that must be current. The commit makes the head `expectedHead + 1`. */
  readonly expectedHead: number;
  readonly expectedOp: string;
  /** Unique id of this commit (S3). */
  readonly op: string;
  readonly puts: readonly PartitionRow[];
  readonly deletes: readonly RowKey[];
  /** Replaces the snapshot; events with `k <= seq` are pruned in the same commit. */
  readonly snapshot?: { readonly seq: number; readonly body: string; readonly schemaVersion: number };
  /** The actor is forgotten (S8); nothing else is written then. */
  readonly forget?: true;
  /** Unix milliseconds at which the actor must be woken even if nobody calls it; null if it needs no wake-up (S7). */
  readonly wakeAtMs: number | null;
  /** The owner for whom the commit creates the actor; it then follows {@link newActor} (S9). */
  readonly creates?: string;
  /** Commits of other actors that are applied with it (S10); they create and forget nothing. */
  readonly with?: readonly ActorCommit[];
}

/** What the first commit of an actor follows that it creates. */
export const newActor = { head: 0, op: "" } as const;

export type CommitOutcome =
  | { readonly status: "applied" }
  /** Another activation owns the actor, or its head is not the expected one. The writer must stop at once. */
  | {
      readonly status: "refused";
      readonly epoch: number;
      readonly head: number;
      readonly op: string;
      /** The commit that was refused, if it was `with` the one that was sent: that one could have been applied alone. */
      readonly other?: ActorCommit;
    };

/**
 * Selects rows of one table of a partition: those with exact text keys (any `k`), or up to `limit` rows in (k, k2) order
 * that follow `after`.
 */
export type RowSelection =
  | { readonly rt: number; readonly keys: readonly string[] }
  | {
      readonly rt: number;
      readonly after?: { readonly k: number; readonly k2: string };
      readonly limit: number;
    };

export interface ActorStore {
  /** Whether a commit can create its actor (S9), which saves the claim. */
  readonly createsActors: boolean;
  /** Whether commits of several actors can be one (S10). */
  readonly joinsCommits: boolean;
  /** Takes ownership of the actor. An actor that is not there begins with `firstEpoch`, 1 by default. Throws {@link StoreError}. */
  claim(ref: ActorRef, owner: string, firstEpoch?: number): Promise<Activation>;
  /** Throws {@link StoreError}; `unknown` is resolved by resending the same commit or claiming again (A5). */
  commit(commit: ActorCommit): Promise<CommitOutcome>;
  /** Keyed rows of the partition. Selections by key return rows in no particular order; expired rows may be included. */
  readRows(ref: ActorRef, selections: readonly RowSelection[]): Promise<readonly PartitionRow[]>;
  /**
   * Reads the head without claiming; null when the actor has never existed. It includes every commit that was agreed on,
   * even one that no other read would show yet: callers that drop messages which an actor never received rely on that.
   */
  readHead(ref: ActorRef): Promise<ActorHead | null>;
  /** Returns at most `limit` actors with a wake-up time at or before `nowMs`, earliest first (S7). */
  dueActors(nowMs: number, limit: number): Promise<readonly { ref: ActorRef; wakeAtMs: number }[]>;
  /**
   * Lists the known actors of a kind in id order, for operators: at most `limit` after `afterId`. A store may be told of kinds of which
   * it lists and counts none, as their actors are soon forgotten.
   */
  listActors(kind: string, afterId: string, limit: number): Promise<readonly string[]>;
  /** Counts the known actors of a kind, for operators: `max` if there are that many or more. */
  countActors(kind: string, max: number): Promise<number>;
}

/** The store with some of its members replaced. */
export function storeWith(store: ActorStore, changes: Partial<ActorStore>): ActorStore {
  return {
    createsActors: store.createsActors,
    joinsCommits: store.joinsCommits,
    claim: (ref, owner, firstEpoch) => store.claim(ref, owner, firstEpoch),
    commit: (commit) => store.commit(commit),
    readRows: (ref, selections) => store.readRows(ref, selections),
    readHead: (ref) => store.readHead(ref),
    dueActors: (nowMs, limit) => store.dueActors(nowMs, limit),
    listActors: (kind, afterId, limit) => store.listActors(kind, afterId, limit),
    countActors: (kind, max) => store.countActors(kind, max),
    ...changes,
  };
}

/** Infrastructure failure of a store call. `unknown` means that the caller must reload and look, never retry blindly. */
export class StoreError extends Error {
  readonly effect: "not_applied" | "unknown";
  constructor(effect: "not_applied" | "unknown", message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StoreError";
    this.effect = effect;
  }
}
