// Lets the event loop run before threads whose work may be late, when there are fewer cores than busy threads.

import { getPriority, setPriority } from "node:os";

/** Nice value: a thread at 0 gets about nine times the share of one at 10 (Linux, sched(7)). */
const niceness = 10;

/** Lowers the priority of the calling thread on systems where threads have their own; elsewhere it does nothing. */
export function lowerPriority(): void {
  // On Linux 0 means the calling thread; on other systems the whole process.
  if (process.platform !== "linux") return;
  try {
    // A process that was started with a lower one keeps it.
    setPriority(0, Math.max(getPriority(0), niceness));
  } catch {
    // A sandbox may forbid it; then all threads have equal priority.
  }
}
