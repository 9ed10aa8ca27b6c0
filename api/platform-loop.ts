// The event loop of the process.

import type { EventLoop } from "../std/event-loop.ts";

export const platformLoop: EventLoop = {
  nowMs: () => performance.now(),
  nextTurn: (run) => void setImmediate(run),
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};
