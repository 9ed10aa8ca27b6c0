// Starts a process again a while after it ended, until told to stop: a crash that somebody tries out is seen, and heals.

import { setTimeout as delay } from "node:timers/promises";

export interface Keeping {
  /** How people know the process. */
  readonly name: string;
  /** Starts it once more; rejects when it cannot be started. */
  readonly start: () => Promise<{ readonly ended: Promise<void> }>;
  readonly tell: (line: string) => void;
  readonly restartMs: number;
  readonly stop: AbortSignal;
}

/** Resolves once `stop` is aborted and the process that ran then has ended. */
export async function keepRunning(
  first: { readonly ended: Promise<void> },
  { name, start, tell, restartMs, stop }: Keeping,
): Promise<void> {
  for (let running = first; ; ) {
    await running.ended;
    for (let next: typeof first | null = null; next === null; ) {
      if (stop.aborted) return;
      tell(`${name} has ended. It starts again in ${restartMs / 1_000} s.`);
      await delay(restartMs, undefined, { signal: stop }).catch(() => {});
      if (stop.aborted) return;
      next = await start().catch(() => null);
      if (next !== null) running = next;
    }
  }
}
