// Drops abandoned pushes periodically for as long as a node runs.
//   T1. Only one sweep runs at a time: the next is due one interval after the previous one has ended, however long that
//       took.
//   T2. A sweep that fails reports it, and the next one still runs.
//   T3. Once stopped, no new sweep starts, and the one under way drops nothing that it had not started to drop. The stop
//       completes when that sweep ends; its result is not reported.

import type { Clock } from "../crypto/port.ts";
import { repeat } from "../std/repeat.ts";
import { type AbandonedDeps, dropAbandoned } from "./abandoned-pushes.ts";

export interface SweepDeps extends AbandonedDeps {
  readonly clock: Clock;
  readonly timers: { schedule(delayMs: number, run: () => void): () => void };
  /** The time from the end of a sweep, or the start of the node, to the next sweep. */
  readonly everyMs: number;
  /** The minimum time since anything of a push was last staged. */
  readonly afterMs: number;
  /** Called when pushes were dropped. */
  readonly dropped: (pushes: number) => void;
  readonly failed: (error: unknown) => void;
}

/** Starts sweeping; the returned function stops it (T3). */
export function sweepAbandoned(deps: SweepDeps): () => Promise<void> {
  const run = async (isStopped: () => boolean): Promise<void> => {
    try {
      const pushes = await dropAbandoned(deps, deps.clock.now() - deps.afterMs, isStopped);
      if (pushes > 0 && !isStopped()) deps.dropped(pushes);
    } catch (error) {
      if (!isStopped()) deps.failed(error);
    }
  };
  return repeat({ ...deps, run });
}
