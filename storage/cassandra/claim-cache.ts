// What this process remembers of an actor that it claimed, so that a commit needs no read.
//   T1. A track is used only for the commit that directly follows what it last saw (epoch and head). Evicting a track is
//       always safe: the next commit then makes the weakest assumptions.
//   T2. `outboxLow` is never above the `k` of an existing outbox row.
//   T3. `hintAtMs` is a time at or before which the store has a hint for the actor, and until which it keeps one.

import { BoundedMap } from "../../std/bounded-map.ts";
import { type ActorCommit, type ActorRef, rowTable } from "../actor-store.ts";

/** What a claim found: the initial state of a track. */
export interface TrackStart {
  readonly epoch: number;
  readonly head: number;
  readonly outboxLow: number;
  /** `k` of the outbox rows, in ascending order. */
  readonly outbox: readonly number[];
  readonly wakeAtMs: number | null;
}

/** The outbox as a commit will leave it; {@link ActorClaim.follow} adopts it once the commit is applied. */
interface NextOutbox {
  readonly low: number;
  readonly added: readonly number[];
  readonly removed: ReadonlySet<number>;
}

const none: ReadonlySet<number> = new Set();

export class ActorClaim {
  readonly epoch: number;
  #head: number;
  /** In insertion order, which is ascending unless `#isAscending` is false. */
  readonly #outbox: Set<number>;
  #isAscending = true;
  #highest: number;
  #low: number;
  readonly #onlyZeros = new Set<number>();
  hintAtMs: number | null;

  constructor(start: TrackStart) {
    this.epoch = start.epoch;
    this.#head = start.head;
    this.#outbox = new Set(start.outbox);
    this.#low = start.outboxLow;
    this.#highest = start.outbox.at(-1) ?? start.outboxLow - 1;
    this.hintAtMs = start.wakeAtMs;
  }

  /** See T1. */
  precedes(commit: Pick<ActorCommit, "epoch" | "expectedHead">): boolean {
    return commit.epoch === this.epoch && commit.expectedHead === this.#head;
  }

  get outboxLow(): number {
    return this.#low;
  }

  /** The bound after `commit` (T2). */
  nextOutbox(commit: ActorCommit): NextOutbox {
    const added = commit.puts.filter((row) => row.rt === rowTable.outbox).map((row) => row.k);
    const gone = commit.deletes.filter((key) => key.rt === rowTable.outbox);
    const removed = gone.length === 0 ? none : new Set(gone.map((key) => key.k));
    return { low: this.#lowest(added, removed), added, removed };
  }

  /** Called when the commit was applied. */
  follow(commit: ActorCommit): void {
    const { low, added, removed } = this.nextOutbox(commit);
    for (const k of removed) this.#outbox.delete(k);
    for (const k of added) {
      if (k < this.#highest) this.#isAscending = false;
      this.#highest = Math.max(this.#highest, k);
      this.#outbox.add(k);
    }
    if (this.#outbox.size === 0) this.#isAscending = true;
    this.#low = low;
    this.#head = commit.expectedHead + 1;
    for (const row of commit.puts) if (row.k > 0) this.#onlyZeros.delete(row.rt);
  }

  hasOnlyZeros(rt: number): boolean {
    return this.#onlyZeros.has(rt);
  }

  /** Records that no row of the table has a `k` above 0. */
  noteOnlyZeros(rt: number): void {
    this.#onlyZeros.add(rt);
  }

  #lowest(added: readonly number[], removed: ReadonlySet<number>): number {
    let lowest = Number.POSITIVE_INFINITY;
    for (const k of this.#outbox) {
      if (removed.has(k)) continue;
      lowest = Math.min(lowest, k);
      if (this.#isAscending) break;
    }
    for (const k of added) lowest = Math.min(lowest, k);
    // An empty outbox: the next row is above all previous ones, or lowers the bound again.
    return lowest === Number.POSITIVE_INFINITY ? this.#highest + 1 : lowest;
  }
}

/** Maximum number of cached tracks; the least recently used are evicted first (T1). */
const tracksMax = 50_000;

export class ClaimCache {
  readonly #tracks = new BoundedMap<string, ActorClaim>(tracksMax);

  set(ref: ActorRef, track: ActorClaim): void {
    this.#tracks.set(keyOf(ref), track);
  }

  get(ref: ActorRef): ActorClaim | undefined {
    return this.#tracks.get(keyOf(ref));
  }

  /** The track of the activation that `commit` belongs to, if it is up to date for the commit (T1). */
  before(commit: ActorCommit): ActorClaim | undefined {
    const track = this.get(commit.ref);
    return track?.precedes(commit) === true ? track : undefined;
  }

  forget(ref: ActorRef): void {
    this.#tracks.delete(keyOf(ref));
  }
}

function keyOf(ref: ActorRef): string {
  return `${ref.kind}\n${ref.id}`;
}
