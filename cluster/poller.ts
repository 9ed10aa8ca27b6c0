// Polls the store.
//   Y1. A call that hangs delays no other: the next one starts at its time, up to a bound of calls under way.
//   Y2. A caller that requests a fresh run gets one that begins after the request; simultaneous requests share one run.

import type { TimerPort } from "../actors/system/ports.ts";

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
