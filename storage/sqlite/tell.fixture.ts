import { writeSync } from "node:fs";

/**
 * Writes a line to standard output synchronously and completely: if the parent has not drained the pipe, the write fails
 * with EAGAIN and is retried.
 */
export function tell(line: string): void {
  for (;;) {
    try {
      writeSync(1, line);
      return;
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) throw error;
    }
  }
}
