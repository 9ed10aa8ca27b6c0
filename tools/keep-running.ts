// Starts a process again a while after it ended, until told to stop: a crash that somebody tries out is seen, and heals.
//   K1. The pause doubles, up to a bound, each time it does not start or ends soon after it had; one that ran for a
//       while begins with the first pause again.

import { setTimeout as delay } from "node:timers/promises";

export interface Keeping {
  /** How people know the process. */
  readonly name: string;
  /** Starts it once more; rejects when it cannot be started. */
  readonly start: () => Promise<{ readonly ended: Promise<void> }>;
  readonly tell: (line: string) => void;
  /** The first pause, and the longest one (K1). */
  readonly restartMs: number;
  readonly restartMaxMs: number;
  readonly stop: AbortSignal;
  /** The platform's unless told. */
  readonly time?: Time;
}

interface Time {
  nowMs(): number;
  /** Over at once when `stop` is aborted. */
  pass(ms: number, stop: AbortSignal): Promise<void>;
}

const platformTime: Time = {
  nowMs: () => performance.now(),
  pass: (ms, stop) => delay(ms, undefined, { signal: stop }).catch(() => {}),
};

/** Whoever ran for so many pauses is well (K1). */
const wellAfterPauses = 4;

/** Resolves once `stop` is aborted and the process that ran then has ended. */
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
