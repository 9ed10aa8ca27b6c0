// Polls the key files, so that a newer key set, and working keys that the operator provisioned, are adopted while the node
// runs. A look that the stop finds under way is waited for, and its outcome is not logged, because the node is leaving.

import type { LogEntry, TimerPort } from "../../actors/system/ports.ts";
import { repeat } from "../../std/repeat.ts";
import type { CurrentKeys } from "./current-keys.ts";

export const lookEveryMs = 2_000;

/** Starts polling; the returned function stops it and resolves after the last look. */
export function watchKeys(
  current: Pick<CurrentKeys, "takeOver">,
  timers: TimerPort,
  log: (entry: LogEntry) => void,
): () => Promise<void> {
  const note = (level: LogEntry["level"], event: string, detail: string): void =>
    log({ level, event, actor: "", detail });
  const run = async (isStopped: () => boolean): Promise<void> => {
    const outcome = await current.takeOver();
    if (isStopped()) return;
    if (outcome.status === "taken_over") note("info", "keys.taken_over", `issued at ${outcome.issuedAt}`);
    if (outcome.status === "refused") note("error", "keys.not_taken_over", outcome.detail);
  };
  return repeat({ everyMs: lookEveryMs, timers, run });
}
