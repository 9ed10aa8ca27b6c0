// One partition of the actor table as Cassandra keeps it: static columns, clustering rows, and the Paxos state.
//   P1. Conditional statements and serial reads are serialised. Each first settles what an earlier one left accepted:
//       a majority's is committed; a minority's is committed or forgotten, as the queried replicas know of it or not.
//   P2. A plain read sees what is committed, and nothing that is only accepted.
//   P3. Once settled, a proposal never reappears.

import { type PartitionRow, type RowKey, type RowSelection, rowTable } from "../../storage/actor-store.ts";
import { PartitionRows } from "../../storage/memory/actor-store.ts";
import type { Reach } from "./statements.ts";

export interface PartitionHead {
  epoch: number;
  owner: string;
  head: number;
  op: string;
  snapshotSeq: number;
  snapshot: string | null;
  schemaVersion: number;
  /** Region whose conditional statements count; empty before the first claim. */
  home: string;
  wakeAtMs: number | null;
}

const neverClaimed: PartitionHead = {
  epoch: 0,
  owner: "",
  head: 0,
  op: "",
  snapshotSeq: 0,
  snapshot: null,
  schemaVersion: 0,
  home: "",
  wakeAtMs: null,
};

export interface Mutation {
  readonly head: Partial<PartitionHead>;
  readonly puts: readonly PartitionRow[];
  readonly deletes: readonly RowKey[];
  /** Event rows up to this sequence are removed. */
  readonly pruneTo?: number;
  /** Nothing is left. */
  readonly forget?: boolean;
}

export interface CasResult {
  readonly applied: boolean;
  /** The static columns against which the condition was evaluated. */
  readonly found: PartitionHead;
}

export interface Proposal {
  readonly holds: (found: PartitionHead) => boolean;
  readonly mutation: Mutation;
  /** Called with the state that met the condition when it takes effect: perhaps after acceptance, perhaps never. */
  readonly onApplied?: (found: PartitionHead) => void;
}

interface Accepted {
  readonly apply: () => void;
  readonly byMajority: boolean;
  readonly wakeAtMs: number | null | undefined;
}

/** Decides, for a proposal accepted by a minority, whether the replicas queried next know of it. */
export type Coin = () => boolean;

export class ActorPartition {
  readonly kind: string;
  readonly id: string;
  head: PartitionHead = { ...neverClaimed };
  readonly #rows = new PartitionRows();
  #accepted: Accepted | null = null;

  constructor(kind: string, id: string) {
    this.kind = kind;
    this.id = id;
  }

  /** Whether a plain read would currently miss something. */
  get isBehind(): boolean {
    return this.#accepted !== null;
  }

  /** The earliest wake-up time for which a hint exists; hints are written before the state that they announce. */
  get hintedWakeMs(): number | null {
    const hinted = this.#accepted?.wakeAtMs;
    if (hinted === undefined || hinted === null) return this.head.wakeAtMs;
    return Math.min(hinted, this.head.wakeAtMs ?? hinted);
  }

  serialRead(coin: Coin): PartitionHead {
    this.#settle(coin);
    return { ...this.head };
  }

  plainRead(): PartitionHead {
    return { ...this.head };
  }

  cas(proposal: Proposal, reach: Reach, coin: Coin): CasResult {
    this.#settle(coin);
    const found = { ...this.head };
    if (!proposal.holds(found)) return { applied: false, found };
    const apply = (): void => {
      this.apply(proposal.mutation);
      proposal.onApplied?.(found);
    };
    if (reach === "full") apply();
    else {
      const wakeAtMs = proposal.mutation.head.wakeAtMs;
      this.#accepted = { apply, byMajority: reach === "unseen", wakeAtMs };
    }
    return { applied: true, found };
  }

  /** See {@link PartitionRows.of}. */
  rows(rt: number, nowMs: number): PartitionRow[] {
    return this.#rows.of(rt, nowMs);
  }

  select(selection: RowSelection, nowMs: number): readonly PartitionRow[] {
    const least = selection.rt === rowTable.event ? this.head.snapshotSeq : -1;
    return this.#rows.select(selection, nowMs, least);
  }

  apply(mutation: Mutation): void {
    if (mutation.forget) {
      this.head = { ...neverClaimed };
      this.#rows.clear();
      return;
    }
    Object.assign(this.head, mutation.head);
    this.#rows.change(mutation);
    if (mutation.pruneTo !== undefined) this.prune(mutation.pruneTo);
  }

  /** Removes event rows up to `sequence`. */
  prune(sequence: number): void {
    this.#rows.prune(sequence);
  }

  #settle(coin: Coin): void {
    const accepted = this.#accepted;
    if (accepted === null) return;
    this.#accepted = null;
    if (accepted.byMajority || coin()) accepted.apply();
  }
}
