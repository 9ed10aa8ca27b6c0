// The faults of a world: which kinds a seed has and how often (swarm testing: every seed has another mixture, so that
// kinds which hide each other are also seen apart), and how often each has fired.

import type { Random } from "../kernel/random.ts";

export const faultKinds = [
  // What one statement to the store meets.
  "store_refused",
  "store_lost",
  "store_unheard",
  "store_late",
  "store_partial",
  "store_unseen",
  "store_slow",
  "stale_read",
  "crash_before_commit",
  "crash_after_commit",
  // What one message between nodes meets.
  "message_lost",
  "answer_lost",
  "message_delayed",
  "message_duplicated",
  // What one request of a client meets.
  "request_lost",
  "response_lost",
  "client_delayed",
  // What one call of an index meets.
  "index_unheard",
  "index_slow",
  // What befalls nodes, links, indexes and regions from time to time.
  "node_crash",
  "node_pause",
  "lease_unnoticed",
  "node_upgrade",
  "clock_skew",
  "link_cut_one_way",
  "link_cut",
  "index_away",
  "replication_cut",
] as const;

export type FaultKind = (typeof faultKinds)[number];

/** Share of the calls that meet the fault, from least to most. */
const rates: Partial<Record<FaultKind, readonly [number, number]>> = {
  store_refused: [0.002, 0.03],
  store_lost: [0.002, 0.02],
  store_unheard: [0.002, 0.02],
  store_late: [0.002, 0.02],
  store_partial: [0.002, 0.02],
  store_unseen: [0.002, 0.02],
  store_slow: [0.01, 0.1],
  crash_before_commit: [0.0005, 0.004],
  crash_after_commit: [0.0005, 0.004],
  message_lost: [0.005, 0.05],
  answer_lost: [0.005, 0.05],
  message_delayed: [0.01, 0.2],
  message_duplicated: [0.02, 0.3],
  request_lost: [0.01, 0.1],
  response_lost: [0.01, 0.1],
  client_delayed: [0.02, 0.2],
  index_unheard: [0.01, 0.1],
  index_slow: [0.01, 0.2],
  lease_unnoticed: [0.2, 0.8],
};

/** Mean time between two, in milliseconds, from least to most. */
const intervals: Partial<Record<FaultKind, readonly [number, number]>> = {
  node_crash: [3_000, 12_000],
  node_pause: [3_000, 12_000],
  node_upgrade: [4_000, 12_000],
  clock_skew: [3_000, 10_000],
  link_cut_one_way: [3_000, 10_000],
  link_cut: [3_000, 10_000],
  index_away: [3_000, 10_000],
  replication_cut: [3_000, 10_000],
};

/** Share of all seeds that have a kind. */
const presence = 0.35;

export class Faults {
  readonly fired = new Map<FaultKind, number>();
  /** Kinds that this seed has, with their rate or their mean interval. */
  readonly chosen = new Map<FaultKind, number>();
  /** False before the safety phase and after it. */
  active = false;
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
    for (const kind of faultKinds) {
      const range = rates[kind] ?? intervals[kind];
      // Each kind draws from a generator of its own: a new kind changes no other's place.
      const draw = random.fork(kind);
      if (range !== undefined && draw.chance(presence)) {
        const [low, high] = range;
        this.chosen.set(kind, low + draw.float() * (high - low));
      }
    }
  }

  /** Whether one call meets the fault; counts it. */
  meets(kind: FaultKind): boolean {
    if (!this.active) return false;
    const rate = this.chosen.get(kind);
    if (rate === undefined || !this.#random.chance(rate)) return false;
    this.note(kind);
    return true;
  }

  /** Milliseconds until a kind befalls something next; null when this seed has it not. */
  nextAfterMs(kind: FaultKind): number | null {
    const mean = intervals[kind] === undefined ? undefined : this.chosen.get(kind);
    return mean === undefined ? null : Math.ceil(mean * (0.2 + 1.6 * this.#random.float()));
  }

  note(kind: FaultKind): void {
    this.fired.set(kind, (this.fired.get(kind) ?? 0) + 1);
  }
}
