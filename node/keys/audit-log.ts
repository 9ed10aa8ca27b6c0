// An append-only log: one JSON line per entry, on the disk before its writer continues.
//   A1. `append` returns once its line is flushed. If a line cannot be written, it throws, and the caller does not act.
//   A2. Entries are in the order in which they were appended. A line that a crash cut off is terminated before the next
//       one.
//   A3. Each line opens the file by its name, so a file that log rotation moves away is recreated.

import { closeSync, openSync } from "node:fs";
import { appendLine } from "../append-line.ts";

export interface AuditLog {
  append(entry: Readonly<Record<string, string | readonly string[]>>): void;
}

/** Throws if the file cannot be created. */
export function openAuditLog(path: string): AuditLog {
  closeSync(openSync(path, "a", 0o600));
  return { append: (entry) => appendLine(path, `${JSON.stringify(entry)}\n`) };
}
