// The event loop as what shares one thread sees it: a port, because the simulator drives the same code in simulated time.

export interface EventLoop {
  /** Monotonic. */
  readonly nowMs: () => number;
  /** Runs in the next turn, after what is due. */
  readonly nextTurn: (run: () => void) => void;
  /** Runs after at least this many milliseconds, unless it is cancelled. */
  readonly after: (delayMs: number, run: () => void) => () => void;
}
