// Polls the key files, so that a newer key set, and working keys that the operator provisioned, are adopted while the node
// runs.

import type { LogEntry } from "../../actors/system/ports.ts";
import type { CurrentKeys } from "./current-keys.ts";

const everyMs = 2_000;

/** Starts polling; the returned function stops it. */
export function watchKeys(current: CurrentKeys, log: (entry: LogEntry) => void): () => void {
  const note = (level: LogEntry["level"], event: string, detail: string): void =>
    log({ level, event, actor: "", detail });
  let isLooking = false;
  const timer = setInterval(async () => {
    if (isLooking) return;
    isLooking = true;
    const outcome = await current.takeOver();
    isLooking = false;
    if (outcome.status === "taken_over") note("info", "keys.taken_over", `issued at ${outcome.issuedAt}`);
    if (outcome.status === "refused") note("error", "keys.not_taken_over", outcome.detail);
  }, everyMs);
  return () => clearInterval(timer);
}
