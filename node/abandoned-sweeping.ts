// Drops abandoned pushes from time to time for as long as a node runs, and says in the log how that went.

import type { LogEntry, TimerPort } from "../actors/system/ports.ts";
import type { Clock } from "../crypto/port.ts";
import { type AbandonedDeps, abandonedAfterMs } from "../service/abandoned-pushes.ts";
import { sweepAbandoned } from "../service/abandoned-sweep.ts";

/** The interval between two sweeps. */
const sweepEveryMs = 3_600_000;

/** In a cluster, each node sweeps the pushes that live on it. The returned function stops it. */
export function sweepFromTimeToTime(
  abandoned: AbandonedDeps,
  platform: {
    readonly clock: Clock;
    readonly timers: TimerPort;
    readonly log: (entry: LogEntry) => void;
  },
): () => Promise<void> {
  const note = (level: LogEntry["level"], event: string, detail: string): void =>
    platform.log({ level, event, actor: "", detail });
  return sweepAbandoned({
    ...abandoned,
    ...platform,
    everyMs: sweepEveryMs,
    afterMs: abandonedAfterMs,
    dropped: (pushes) => note("info", "push.abandoned_dropped", `${pushes} pushes were never accepted`),
    failed: (error) => note("warn", "push.abandoned_look_failed", String(error)),
  });
}
