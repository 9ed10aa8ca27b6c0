import { writeSync } from "node:fs";

/** Says a line on standard output at once and whole: a pipe that the parent has not emptied answers EAGAIN, then the same is said again. */
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
