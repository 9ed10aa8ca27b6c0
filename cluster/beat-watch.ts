// The failure detector: notices that a member no longer sends heartbeats.
//   W1. Time is this node's own monotonic clock; no wall clock is trusted.
//   W2. A member is overdue if a read of the heartbeats that *began* `evictMs` after its count was last seen to change finds
//       the same count. So neither a slow answer nor a pause of this node makes another node overdue.

import type { Beat, Member } from "../storage/cluster-store.ts";

interface Seen {
  readonly count: number | null;
  readonly sinceMs: number;
  overdue: boolean;
}

export interface BeatRead {
  readonly beats: readonly Beat[];
  readonly beganMs: number;
  readonly endedMs: number;
}

export class BeatWatch {
  readonly #evictMs: number;
  readonly #seen = new Map<string, Seen>();
  #latestBeganMs = Number.NEGATIVE_INFINITY;

  constructor(evictMs: number) {
    this.#evictMs = evictMs;
  }

  /** Compares a read with the earlier ones of `members`; forgets all others. */
  note(members: readonly Pick<Member, "incarnation">[], read: BeatRead): void {
    // Reads may overtake each other; one that began earlier contains nothing newer.
    if (read.beganMs < this.#latestBeganMs) return;
    this.#latestBeganMs = read.beganMs;
    const counts = new Map(read.beats.map((beat) => [beat.incarnation, beat.count]));
    const watched = new Set(members.map((member) => member.incarnation));
    for (const incarnation of this.#seen.keys())
      if (!watched.has(incarnation)) this.#seen.delete(incarnation);
    for (const incarnation of watched) {
      const count = counts.get(incarnation) ?? null;
      const seen = this.#seen.get(incarnation);
      if (seen === undefined || seen.count !== count) {
        this.#seen.set(incarnation, { count, sinceMs: read.endedMs, overdue: false });
      } else if (read.beganMs - seen.sinceMs >= this.#evictMs) seen.overdue = true;
    }
  }

  /** The incarnations that are overdue (W2). */
  overdue(): readonly string[] {
    return [...this.#seen].flatMap(([incarnation, { overdue }]) => (overdue ? [incarnation] : []));
  }

  /** The instant at which a read must begin to find the next member overdue; null if there is none. */
  nextDueMs(): number | null {
    let earliestMs: number | null = null;
    for (const { sinceMs, overdue } of this.#seen.values()) {
      const dueMs = sinceMs + this.#evictMs;
      if (!overdue && (earliestMs === null || dueMs < earliestMs)) earliestMs = dueMs;
    }
    return earliestMs;
  }
}
