// A log that only grows: a JSON line an entry, on the disk before its writer goes on.
//   A1. `append` returns once its line is flushed. A line that could not be written throws, and the caller acts on nothing.
//   A2. Entries stand in the order in which they were asked for. What a crash left of a line ends before the next one.
//   A3. Each line opens the file by its name, so a file that is moved away by whoever keeps such files is begun again.

import { closeSync, openSync } from "node:fs";
import { appendLine } from "../append-line.ts";

export interface AuditLog {
  append(entry: Readonly<Record<string, string | readonly string[]>>): void;
}

/** Throws where there can be no such file. */
export function openAuditLog(path: string): AuditLog {
  closeSync(openSync(path, "a", 0o600));
  return { append: (entry) => appendLine(path, `${JSON.stringify(entry)}\n`) };
}
