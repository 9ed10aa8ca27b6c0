// Drops abandoned pushes from time to time, for as long as a node runs.
//   T1. One sweep at a time: the next is due its interval after the one before is over, however long that took.
//   T2. A sweep that fails tells so, and the next one comes all the same.
//   T3. Once stopped, no sweep begins, and the one under way drops nothing that it had not begun to drop. The stop is over
//       when that one is; what becomes of it is told to nobody.

import type { Clock } from "../crypto/port.ts";
import { type AbandonedDeps, dropAbandoned } from "./abandoned-pushes.ts";

export interface SweepDeps extends AbandonedDeps {
  readonly clock: Clock;
  readonly timers: { schedule(delayMs: number, run: () => void): () => void };
  /** From the end of a sweep, or the beginning of the node, to the next sweep. */
  readonly everyMs: number;
  /** How long ago something of a push was staged last, at least. */
  readonly afterMs: number;
  /** Some were dropped. */
  readonly dropped: (pushes: number) => void;
  readonly failed: (error: unknown) => void;
}

/** Begins; the answer stops it (T3). */
export function sweepAbandoned(deps: SweepDeps): () => Promise<void> {
  let isStopped = false;
  let underWay: Promise<void> = Promise.resolve();
  let cancel = (): void => {};
  const sweep = async (): Promise<void> => {
    try {
      const pushes = await dropAbandoned(deps, deps.clock.now() - deps.afterMs, () => isStopped);
      if (pushes > 0 && !isStopped) deps.dropped(pushes);
    } catch (error) {
      if (!isStopped) deps.failed(error);
    }
    arm();
  };
  const arm = (): void => {
    if (isStopped) return;
    cancel = deps.timers.schedule(deps.everyMs, () => {
      underWay = sweep();
    });
  };
  arm();
  return () => {
    isStopped = true;
    cancel();
    return underWay;
  };
}
