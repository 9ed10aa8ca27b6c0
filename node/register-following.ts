// Follows the register's changes for as long as a node runs.
//   F1. One refresh at a time, the next its interval after the one before has ended.
//   F2. A store that is away is told in few lines: at once, once a minute with the count, and once when it is over.
//   F3. Once stopped, no refresh begins. The stop is over when the one under way is; what becomes of that one is not
//       logged, for the node is leaving.

import type { LogEntry, TimerPort } from "../actors/system/ports.ts";
import { OutageLog } from "../cluster/outage-log.ts";
import type { Monotonic } from "../cluster/poller.ts";
import type { Register } from "../service/register.ts";

export interface RegisterFollowing {
  readonly register: Pick<Register, "refresh">;
  readonly timers: TimerPort;
  readonly monotonic: Monotonic;
  readonly log: (entry: LogEntry) => void;
}

/** How often the register's changes are followed. */
export const refreshMs = 1_000;

/** Begins; the answer stops it (F3). */
export function followRegister({ register, timers, monotonic, log }: RegisterFollowing): () => Promise<void> {
  let isStopped = false;
  let underWay: Promise<void> = Promise.resolve();
  let cancel = (): void => {};
  const note = (level: LogEntry["level"], event: string, detail: string): void => {
    if (!isStopped) log({ level, event, actor: "", detail });
  };
  const outage = new OutageLog({
    monotonic,
    failed: (detail) => note("warn", "register.refresh_failed", detail),
    over: (detail) => note("info", "register.refresh_succeeded", detail),
  });
  const arm = (): void => {
    if (isStopped) return;
    cancel = timers.schedule(refreshMs, () => {
      underWay = outage.watch("the register", () => register.refresh()).then(arm);
    });
  };
  arm();
  return () => {
    isStopped = true;
    cancel();
    return underWay;
  };
}
