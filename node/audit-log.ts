// The audit log: what operators did or were refused, and which keys the node signs with. It is JSON lines, separate from
// everything else that a node logs.
//   L1. Before `record` returns, the line is on the disk under the name of its file, or has been taken by the reader of
//       standard output; otherwise it throws.
//   L2. Each line opens the file by its name, so a file that log rotation moves or removes is recreated.
//   L3. A line that was cut off, because the process died or the disk was full, is terminated before the next one.

import { join } from "node:path";
import { pino } from "pino";
import type { LogEntry } from "../actors/system/ports.ts";
import type { AuditLog } from "../ops/acts.ts";
import { utf8 } from "../protocol/bytes.ts";
import { hashOf } from "../protocol/hash.ts";
import { appendLine, writeWhole } from "./append-line.ts";
import { ConfigError } from "./config-error.ts";

/** The log entries about keys or homes that an operator will want to find later. */
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
  const write = auditTo === "file" ? (line: string) => appendLine(path, line) : outputLines();
  const lines = pino({ base: { audit: true, region }, timestamp: pino.stdTimeFunctions.isoTime }, { write });
  return { record: (event, detail) => lines.info(detail, event) };
}

/** Records which key set the node starts with. Throws {@link ConfigError}: a node that cannot record is not started. */
export function recordKeySet(audit: AuditLog, keySet: string): void {
  try {
    audit.record("keys.in_force", { key_set: hashOf(utf8(keySet)) });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigError(
      "SVC_AUDIT_TO",
      `names an audit log that cannot be written (${why}); make room for it`,
    );
  }
}

/** Whether an entry of the node's log also belongs in the audit log. */
export function isAudited({ event }: Pick<LogEntry, "event">): boolean {
  return auditedEvents.test(event);
}

const standardOutput = 1;

/** Written by hand: when its reader is gone, the logger's own destination silently drops what it is given. */
function outputLines(): (line: string) => void {
  let isCut = false;
  return (line) => {
    const before = isCut ? "\n" : "";
    isCut = true;
    writeWhole(standardOutput, before + line);
    isCut = false;
  };
}
