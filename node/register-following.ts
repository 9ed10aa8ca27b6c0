// Follows the register's changes while a node runs.
//   F1. Refreshes never overlap; the next one starts its interval after the previous one has ended.
//   F2. A store outage is logged in few lines: at once, once a minute with the count, and once when it is over.
//   F3. After the stop no refresh starts. The stop completes when the refresh under way does; its outcome is not logged,
//       because the node is leaving.

import type { LogEntry, TimerPort } from "../actors/system/ports.ts";
import { OutageLog } from "../cluster/outage-log.ts";
import type { Monotonic } from "../cluster/poller.ts";
import type { Register } from "../service/register.ts";
import { repeat } from "../std/repeat.ts";

export interface RegisterFollowing {
  readonly register: Pick<Register, "refresh">;
  readonly timers: TimerPort;
  readonly monotonic: Monotonic;
  readonly log: (entry: LogEntry) => void;
}

/** How often the register's changes are polled. */
export const refreshMs = 1_000;

/** Starts polling; the returned function stops it (F3). */
export function followRegister({ register, timers, monotonic, log }: RegisterFollowing): () => Promise<void> {
  let isStopped = false;
  const note = (level: LogEntry["level"], event: string, detail: string): void => {
    if (!isStopped) log({ level, event, actor: "", detail });
  };
  const outage = new OutageLog({
    monotonic,
    failed: (detail) => note("warn", "register.refresh_failed", detail),
    over: (detail) => note("info", "register.refresh_succeeded", detail),
  });
  const run = (): Promise<void> => outage.watch("the register", () => register.refresh());
  const stop = repeat({ everyMs: refreshMs, timers, run });
  return () => {
    isStopped = true;
    return stop();
  };
}
