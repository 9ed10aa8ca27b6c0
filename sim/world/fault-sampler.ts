// The outcome of each call to a store, an index or another node, drawn from the faults of the seed.

import type { Life } from "../kernel/life.ts";
import type { Random } from "../kernel/random.ts";
import type { IndexFate, IndexWeather } from "../store/row-index.ts";
import type { Fate, StatementKind, StoreWeather } from "../store/statements.ts";
import type { Faults } from "./faults.ts";

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
