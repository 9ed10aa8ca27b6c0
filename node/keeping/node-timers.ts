// The platform's timers as the port of actors has them; a delay that is longer than the platform takes is cut.

import type { TimerPort } from "../../actors/system/ports.ts";

const delayMaxMs = 2 ** 31 - 1;

/** The platform's timers. A timer alone does not keep the process alive. */
export const nodeTimers: TimerPort = {
  schedule: (delayMs, run) => {
    const timer = setTimeout(run, Math.min(delayMs, delayMaxMs)).unref();
    return () => clearTimeout(timer);
  },
};
