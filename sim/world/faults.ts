// The faults of a world: which kinds a seed has and how often (swarm testing: every seed has a different mixture, so that
// kinds which mask each other are also seen separately), and how often each has fired.

import type { Life } from "../kernel/life.ts";
import type { Random } from "../kernel/random.ts";
import type { IndexFate, IndexWeather } from "../store/row-index.ts";
import type { Fate, StatementKind, StoreWeather } from "../store/statements.ts";

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

// The outcome of each call to a store, an index or another node, drawn from the faults of the seed.

/** Callers of the store give up after this long. */
const storeTimeoutMs = 500;
/** A statement delayed by a coordinator arrives at most this long after it was sent. */
const lateMaxMs = 4_000;
const slowMaxMs = 400;
const indexTimeoutMs = 800;

/** `isEmbedded`: the store is in the node's own process, so nothing between them is lost, late or partial. */
export function createStoreFaults(faults: Faults, random: Random, isEmbedded: boolean): StoreWeather {
  const requestMs = (): number =>
    faults.meets("store_slow") ? random.between(20, slowMaxMs) : random.below(4);
  const changes = (kind: StatementKind): boolean => kind === "cas" || kind === "write";
  // Half of the answers come with the execution, so that a step costs one event instead of two.
  const answered = (): Fate => ({
    kind: "answered",
    reach: "full",
    requestMs: 1 + requestMs(),
    answerMs: random.chance(0.5) ? 0 : 1 + random.below(3),
  });
  return {
    timeoutMs: storeTimeoutMs,
    isInProcess: isEmbedded,
    fate: (kind: StatementKind, _client: Life, { isHearing, isLogging }): Fate => {
      if (changes(kind)) {
        // Its sender has not been informed yet, and sends again.
        if (isHearing === true && faults.meets("crash_after_hearing"))
          return { kind: "crash_after", requestMs: requestMs() };
        if (isLogging === true && faults.meets("crash_while_logging"))
          return random.chance(0.5)
            ? { kind: "crash_before" }
            : { kind: "crash_after", requestMs: requestMs() };
        if (faults.meets("crash_before_commit")) return { kind: "crash_before" };
        if (faults.meets("crash_after_commit"))
          return kind === "cas" && !isEmbedded && random.chance(0.5)
            ? { kind: "crash_lurking", latestMs: random.between(0, lateMaxMs), afterMs: random.below(4) }
            : { kind: "crash_after", requestMs: requestMs() };
        if (isEmbedded) return answered();
        if (faults.meets("store_unheard"))
          return { kind: "timed_out", reach: "full", requestMs: requestMs() };
        if (faults.meets("store_late"))
          return { kind: "timed_out", reach: "full", requestMs: random.between(storeTimeoutMs, lateMaxMs) };
        if (faults.meets("store_partial"))
          return { kind: "timed_out", reach: "partial", requestMs: requestMs() };
        if (kind === "cas" && faults.meets("store_unseen"))
          return { kind: "timed_out", reach: "unseen", requestMs: requestMs() };
      }
      if (faults.meets("store_refused")) return { kind: "refused", requestMs: requestMs() };
      return !isEmbedded && faults.meets("store_lost") ? { kind: "lost" } : answered();
    },
  };
}

export interface RegionIndexes extends IndexWeather {
  /** Regions whose index is unavailable, with the milliseconds after which a caller is informed. */
  readonly away: Map<string, number>;
}

export function createIndexFaults(faults: Faults, random: Random): RegionIndexes {
  const away = new Map<string, number>();
  return {
    away,
    timeoutMs: indexTimeoutMs,
    fate: (region, operation): IndexFate => {
      const awayAfterMs = away.get(region);
      if (awayAfterMs !== undefined) return { kind: "away", afterMs: awayAfterMs };
      const afterMs = faults.meets("index_slow") ? random.between(50, slowMaxMs) : 1 + random.below(4);
      return operation === "apply" && faults.meets("index_unheard")
        ? { kind: "unheard", afterMs }
        : { kind: "answered", afterMs };
    },
  };
}
