// Writes what was counted for as long as a node runs, and once more when it stops.
//   F1. Writes never overlap; the next one starts its interval after the previous one has ended, or sooner (N4 in insight.ts).
//   F2. A write that fails is reported, and its counts are part of the next one.
//   F3. Once an hour, counts beyond their retention are removed, a few in each step.
//   F4. The stop completes after a last write of whatever was counted.

import type { Clock } from "../crypto/port.ts";
import { repeat } from "../std/repeat.ts";
import { flushEveryMs, type Insight } from "./insight.ts";

const forgetEveryMs = 3_600_000;
const forgottenAtOnce = 500;

export interface FlushingDeps {
  readonly insight: Pick<Insight, "flush" | "forget">;
  readonly clock: Clock;
  readonly timers: { schedule(delayMs: number, run: () => void): () => void };
  readonly failed: (error: unknown) => void;
}

/** Starts writing; the returned function stops it (F4). */
export function flushRegularly({ insight, clock, timers, failed }: FlushingDeps): () => Promise<void> {
  let forgetAtMs = clock.now();
  const flush = async (isStopped: () => boolean): Promise<void> => {
    try {
      await insight.flush();
      if (isStopped() || clock.now() < forgetAtMs) return;
      const forgotten = await insight.forget(forgottenAtOnce);
      if (forgotten < forgottenAtOnce) forgetAtMs = clock.now() + forgetEveryMs;
    } catch (error) {
      failed(error);
    }
  };
  const stop = repeat({ everyMs: flushEveryMs, timers, run: flush });
  return async () => {
    await stop();
    await flush(() => true);
  };
}
