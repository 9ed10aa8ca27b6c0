// The faults of a world: which kinds a seed has and how often (swarm testing: every seed has a different mixture, so that
// kinds which mask each other are also seen separately), and how often each has fired.

import type { Random } from "../kernel/random.ts";

export const faultKinds = [
  // Faults of a statement to the store.
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
  "crash_after_hearing",
  "crash_while_logging",
  // Faults of a message between nodes.
  "message_lost",
  "answer_lost",
  "message_delayed",
  "message_duplicated",
  // Faults of a client's request.
  "request_lost",
  "response_lost",
  "client_delayed",
  // Faults of a call to an index.
  "index_unheard",
  "index_slow",
  // Faults of a request to a witness of the log.
  "witness_away",
  "witness_unheard",
  // Faults of nodes, links, indexes and regions, from time to time.
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

/** Maximum skew of a node's clock: operators keep the nodes of one deployment this close together. */
export const skewMaxMs = 900;

/** Share of the calls that meet the fault: minimum and maximum. */
const rates: Partial<Record<FaultKind, readonly [number, number]>> = {
  store_refused: [0.002, 0.03],
  store_lost: [0.002, 0.02],
  store_unheard: [0.002, 0.02],
  store_late: [0.002, 0.02],
  store_partial: [0.002, 0.02],
  store_unseen: [0.002, 0.02],
  store_slow: [0.01, 0.1],
  crash_before_commit: [0.0005, 0.02],
  crash_after_commit: [0.0005, 0.02],
  crash_after_hearing: [0.1, 0.8],
  crash_while_logging: [0.05, 0.4],
  message_lost: [0.005, 0.05],
  answer_lost: [0.005, 0.05],
  message_delayed: [0.01, 0.2],
  message_duplicated: [0.02, 0.3],
  request_lost: [0.01, 0.1],
  response_lost: [0.01, 0.1],
  client_delayed: [0.02, 0.2],
  index_unheard: [0.01, 0.1],
  index_slow: [0.01, 0.2],
  witness_away: [0.05, 0.9],
  witness_unheard: [0.05, 0.5],
  lease_unnoticed: [0.2, 0.8],
};

/** Mean interval in milliseconds: minimum and maximum. */
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

/** Share of all seeds that have a given kind. */
const presence = 0.35;

interface Chosen {
  /** Share of the calls, or mean interval in milliseconds. */
  readonly rate: number;
  /** Its own generator: draws of one kind do not shift another's, so that a run without one kind stays the same for long. */
  readonly random: Random;
  /** How often it has fired so far, including what was left out. */
  strikes: number;
}

export class Faults {
  readonly fired = new Map<FaultKind, number>();
  /** Each fault that fired, in order, as `kind#n`: the name by which a shortened run keeps it. */
  readonly struck: string[] = [];
  /** Kinds that this seed has. */
  readonly chosen = new Map<FaultKind, Chosen>();
  /** False before the safety phase and after it. */
  active = false;
  readonly #kept: ReadonlySet<string> | null;

  /** Only faults named in `kept` happen; null means all. */
  constructor(random: Random, kept: ReadonlySet<string> | null = null) {
    this.#kept = kept;
    for (const kind of faultKinds) {
      const range = rates[kind] ?? intervals[kind];
      const draw = random.fork(kind);
      if (range === undefined || !draw.chance(presence)) continue;
      const [low, high] = range;
      // Rates are drawn on a logarithmic scale: most seeds have few of a kind, some very many.
      const rate = kind in rates ? low * (high / low) ** draw.float() : low + draw.float() * (high - low);
      this.chosen.set(kind, { rate, random: draw, strikes: 0 });
    }
  }

  /** Whether one call meets the fault; counts it. */
  meets(kind: FaultKind): boolean {
    if (!this.active) return false;
    const chosen = this.chosen.get(kind);
    return chosen?.random.chance(chosen.rate) === true && this.#strikes(kind);
  }

  /** Whether the fault that is now due may happen, in a shortened run; the caller records it when it did. */
  mayStrike(kind: FaultKind): string | null {
    const chosen = this.chosen.get(kind);
    if (chosen === undefined) return null;
    chosen.strikes += 1;
    const name = `${kind}#${chosen.strikes}`;
    return this.#kept === null || this.#kept.has(name) ? name : null;
  }

  /** Milliseconds until a fault of this kind happens next; null when this seed does not have it. */
  nextAfterMs(kind: FaultKind): number | null {
    const chosen = intervals[kind] === undefined ? undefined : this.chosen.get(kind);
    return chosen === undefined ? null : Math.ceil(chosen.rate * (0.2 + 1.6 * chosen.random.float()));
  }

  /** Counts one that happened. `name` is the result of {@link mayStrike}; null for one that follows from another fault. */
  note(kind: FaultKind, name: string | null = null): void {
    this.fired.set(kind, (this.fired.get(kind) ?? 0) + 1);
    if (name !== null) this.struck.push(name);
  }

  #strikes(kind: FaultKind): boolean {
    const name = this.mayStrike(kind);
    if (name !== null) this.note(kind, name);
    return name !== null;
  }
}
