// Where acts are recorded: what operators did and were refused, and which keys the node signs with. JSON lines, apart from
// everything else that a node logs.
//   L1. A line is on the disk, or with whoever reads standard output, before `record` returns; else it throws.
//   L2. Each line opens the file anew, so a file that is moved away or removed by whoever keeps such files is begun again.

import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import type { LogEntry } from "../actors/system/ports.ts";
import type { AuditLog } from "../ops/acts.ts";
import { utf8 } from "../protocol/bytes.ts";
import { hashOf } from "../protocol/hash.ts";

/** Entries of the node's log that say of keys or homes what an operator wants to find again. */
const auditedEvents = /^(?:keys\..+|cluster\.(?:moved|move_given_up|evicted))$/;

/** `file` is `audit.log` in the home folder; on standard output each line has `"audit": true`. */
export function openAuditLog({
  auditTo,
  home,
  region,
}: {
  readonly auditTo: "file" | "stdout";
  readonly home: string;
  readonly region: string;
}): AuditLog {
  const path = join(home, "audit.log");
  const sink =
    auditTo === "file"
      ? { write: (line: string) => appendFileSync(path, line, { mode: 0o600, flush: true }) }
      : pino.destination({ dest: 1, sync: true });
  const lines = pino({ base: { audit: true, region }, timestamp: pino.stdTimeFunctions.isoTime }, sink);
  return { record: (event, detail) => lines.info(detail, event) };
}

/** Records which key set the node begins with. */
export function recordKeySet(audit: AuditLog, keySet: string): void {
  audit.record("keys.in_force", { key_set: hashOf(utf8(keySet)) });
}

/** Whether an entry of the node's log belongs here, too. */
export function isAudited({ event }: Pick<LogEntry, "event">): boolean {
  return auditedEvents.test(event);
}
