// Restarts a process some time after it ended, until stopped: a crash that somebody tries out is visible, and heals.
//   K1. The pause doubles, up to a bound, each time the process does not start or ends soon after its start; for one that
//       ran for a while it is reset to the first pause.

import { setTimeout as delay } from "node:timers/promises";

export interface Keeping {
  /** Name of the process for display. */
  readonly name: string;
  /** Restarts it; rejects when it cannot be started. */
  readonly start: () => Promise<{ readonly ended: Promise<void> }>;
  readonly tell: (line: string) => void;
  /** The first pause, and the longest one (K1). */
  readonly restartMs: number;
  readonly restartMaxMs: number;
  readonly stop: AbortSignal;
  /** The clock; by default the platform's. */
  readonly time?: Time;
}

interface Time {
  nowMs(): number;
  pass(ms: number, stop: AbortSignal): Promise<void>;
}

const platformTime: Time = {
  nowMs: () => performance.now(),
  pass: (ms, stop) => delay(ms, undefined, { signal: stop }).catch(() => {}),
};

/** A process that ran for this many pauses is healthy (K1). */
const wellAfterPauses = 4;

/** Resolves once `stop` is aborted and the process that was then running has ended. */
export async function keepRunning(
  first: { readonly ended: Promise<void> },
  { name, start, tell, restartMs, restartMaxMs, stop, time = platformTime }: Keeping,
): Promise<void> {
  let pauseMs = restartMs;
  for (let running = first; ; ) {
    const sinceMs = time.nowMs();
    await running.ended;
    if (time.nowMs() - sinceMs > wellAfterPauses * pauseMs) pauseMs = restartMs;
    let what = "has ended";
    for (let next: typeof first | null = null; next === null; ) {
      if (stop.aborted) return;
      tell(`${name} ${what}. It starts again in ${pauseMs / 1_000} s.`);
      await time.pass(pauseMs, stop);
      if (stop.aborted) return;
      pauseMs = Math.min(2 * pauseMs, restartMaxMs);
      next = await start().catch(() => null);
      what = "did not start";
      if (next !== null) running = next;
    }
  }
}
