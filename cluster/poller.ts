// Polls the store.
// Also how far a clock is from the store's, and all intervals and time-outs of the cluster.
//   Y1. A call that hangs delays no other: the next one starts at its time, up to a bound of calls under way.
//   Y2. A caller that requests a fresh run gets one that begins after the request; simultaneous requests share one run.

import type { TimerPort } from "../actors/system/ports.ts";
import type { Clock } from "../crypto/port.ts";
import type { ClusterStore } from "../storage/cluster-store.ts";

/** A clock that never runs backwards, in milliseconds from any origin. */
export interface Monotonic {
  nowMs(): number;
}

export interface PollerOptions {
  readonly timers: TimerPort;
  readonly monotonic: Monotonic;
  /** The call, which must not reject. */
  readonly run: () => Promise<void>;
  /** The interval until the next run, evaluated when one begins. */
  readonly everyMs: () => number;
  /** Minimum time between the beginnings of two runs. */
  readonly gapMs: number;
}

const underWayMax = 4;

export class Poller {
  readonly #options: PollerOptions;
  #underWay = 0;
  #beganMs = Number.NEGATIVE_INFINITY;
  #armedForMs = Number.POSITIVE_INFINITY;
  #cancel: (() => void) | null = null;
  #waiters: (() => void)[] = [];
  #running = false;

  constructor(options: PollerOptions) {
    this.#options = options;
  }

  /** Runs now, and then repeatedly. */
  start(): void {
    this.#running = true;
    this.#arm(this.#options.monotonic.nowMs());
  }

  /** Starts no further runs. Callers that wait for one are released. */
  stop(): void {
    this.#running = false;
    this.#cancel?.();
    this.#armedForMs = Number.POSITIVE_INFINITY;
    for (const waiter of this.#waiters.splice(0)) waiter();
  }

  /** Resolves when a run that began after this call has ended (Y2). */
  fresh(): Promise<void> {
    if (!this.#running) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiters.push(resolve);
      this.by(this.#options.monotonic.nowMs());
    });
  }

  /** Makes the next run begin no later than `atMs`, except that the minimum gap is kept. */
  by(atMs: number): void {
    if (this.#running) this.#arm(Math.max(atMs, this.#beganMs + this.#options.gapMs));
  }

  #arm(atMs: number): void {
    if (this.#armedForMs <= atMs) return;
    this.#cancel?.();
    this.#armedForMs = atMs;
    const { timers, monotonic } = this.#options;
    this.#cancel = timers.schedule(Math.max(0, atMs - monotonic.nowMs()), () => this.#fire());
  }

  #fire(): void {
    if (!this.#running) return;
    const { monotonic, gapMs, everyMs, run } = this.#options;
    this.#armedForMs = Number.POSITIVE_INFINITY;
    const nowMs = monotonic.nowMs();
    if (this.#underWay >= underWayMax) {
      this.#arm(nowMs + gapMs);
      return;
    }
    this.#beganMs = nowMs;
    this.#underWay += 1;
    const waiters = this.#waiters.splice(0);
    this.#arm(nowMs + everyMs());
    void run().finally(() => {
      this.#underWay -= 1;
      for (const waiter of waiters) waiter();
    });
  }
}

// How far a node's wall clock is from the store's, as far as a question and its answer can show it.

/** In milliseconds, never negative. The answer may have spent any part of the time between question and answer on its way. */
export async function clockOffsetMs({
  store,
  clock,
  monotonic,
}: {
  readonly store: Pick<ClusterStore, "storeTimeMs">;
  readonly clock: Clock;
  readonly monotonic: Monotonic;
}): Promise<number> {
  const [askedMs, beganMs] = [clock.now(), monotonic.nowMs()];
  const storeMs = await store.storeTimeMs();
  const tookMs = monotonic.nowMs() - beganMs;
  return Math.max(askedMs - storeMs, storeMs - (askedMs + tookMs), 0);
}

// The intervals and time-outs of the cluster, and the relations between them, in milliseconds of a node's own monotonic clock.
//
// How long a failover takes with the defaults: a node is killed at 0; its last heartbeat was seen by 500 (the next poll); the
// read that begins 2,500 later finds the same count, and the view without the node is written about 20 later. The node that
// wrote it places actors by it at once, the others when they are notified or at their next poll: by 3,600 at the latest, and the
// first caller after that claims the actor and is answered. A broken connection to the node makes its peers poll more
// often, but never wait less: it proves nothing about a lease.

export interface ClusterTiming {
  readonly beatMs: number;
  readonly viewMs: number;
  /** Interval between two polls while something is awaited. */
  readonly hurryMs: number;
  /** How long ago the last heartbeat and the last read of the view may have begun. */
  readonly leaseMs: number;
  /** A member whose heartbeat does not change for this long is removed. */
  readonly evictMs: number;
  /** Maximum difference between a node's wall clock and the store's. */
  readonly clockOffMaxMs: number;
  /** How long the nodes that follow a change may be busy with it before it counts as followed. */
  readonly followMs: number;
  /** How long a joining node waits for the others to release what will belong to it. */
  readonly joinPatienceMs: number;
  /** How long the actors of a leaving node wait for it to finish. */
  readonly leaveGraceMs: number;
  /** Initial and maximum back-off before a node that lost its lease joins again. */
  readonly rejoinMs: number;
  readonly rejoinMaxMs: number;
}

export const defaultTiming: ClusterTiming = {
  beatMs: 500,
  viewMs: 500,
  hurryMs: 50,
  leaseMs: 2_000,
  evictMs: 2_500,
  clockOffMaxMs: 2_000,
  followMs: 1_000,
  joinPatienceMs: 5_000,
  leaveGraceMs: 2_500,
  rejoinMs: 500,
  rejoinMaxMs: 5_000,
};

/** The faults of `timing`, naming the intervals concerned; empty if there are none. */
export function timingFaults(timing: ClusterTiming): readonly string[] {
  const { beatMs, viewMs, leaseMs, evictMs, joinPatienceMs, leaveGraceMs } = timing;
  const faults: string[] = [];
  for (const [name, value] of Object.entries(timing)) {
    if (!(value > 0)) faults.push(`${name} must be more than 0, not ${value}`);
  }
  // Two clocks may differ in rate by up to a fifth before one node acts while another has taken over.
  if (evictMs < leaseMs * 1.25) faults.push("evictMs must be at least 1.25 times leaseMs");
  if (leaseMs < 3 * Math.max(beatMs, viewMs))
    faults.push("leaseMs must be at least 3 times beatMs and viewMs");
  if (joinPatienceMs < 2 * leaseMs) faults.push("joinPatienceMs must be at least 2 times leaseMs");
  if (leaveGraceMs < leaseMs) faults.push("leaveGraceMs must be at least leaseMs");
  return faults;
}
