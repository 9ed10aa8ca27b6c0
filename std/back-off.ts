// How long to wait before something is tried again; and a task that is repeated until it is stopped.

/** More doublings would overflow to Infinity, and Infinity times a first delay of 0 is NaN. */
const doublingsMax = 1_000;

export interface BackOff {
  /** The delay before the first retry. */
  readonly firstMs: number;
  /** The longest delay before any retry. */
  readonly maxMs: number;
}

/** Milliseconds to wait before retry number `attempt` (1 for the first): doubles each time, up to the maximum. */
export function backOffMs(attempt: number, { firstMs, maxMs }: BackOff): number {
  return Math.min(firstMs * 2 ** Math.min(attempt - 1, doublingsMax), maxMs);
}

// A task that is repeated until it is stopped.
//   R1. Runs never overlap: the next one is due an interval after the previous one has ended, however long that took.
//   R2. Once stopped, no run starts. The stop completes when the run under way does, so that nothing of it happens later.

export interface Repeated {
  /** The time from the end of a run, or from now, to the next run. */
  readonly everyMs: number;
  readonly timers: { schedule(delayMs: number, run: () => void): () => void };
  /** Must not reject. It may ask whether it was stopped meanwhile. */
  readonly run: (isStopped: () => boolean) => Promise<void>;
}

/** Starts repeating; the returned function stops it (R2). */
export function repeat({ everyMs, timers, run }: Repeated): () => Promise<void> {
  let isStopped = false;
  let underWay: Promise<void> = Promise.resolve();
  let cancel = (): void => {};
  const arm = (): void => {
    if (isStopped) return;
    cancel = timers.schedule(everyMs, () => {
      underWay = run(() => isStopped).then(arm);
    });
  };
  arm();
  return () => {
    isStopped = true;
    cancel();
    return underWay;
  };
}
