// How long work may keep the one thread that all share. Steps that are counted in records or bytes are as long as the dearest of them,
// so loops over what callers send look at the time instead, once for each item.
//   PC1. The time is that of all work of this turn of the event loop, of everybody, from its first look on.
//   PC2. Work that is not due goes on without a promise, so that a look costs no more than reading the clock.

/**
 * To be called before each item: null, or a promise to await first, since the work of this turn has lasted for a step. A function that
 * always pauses is a pace as well.
 */
export type Pace = () => Promise<void> | null;

export interface PacePorts {
  readonly nowMs: () => number;
  /** Runs in the next turn of the event loop. */
  readonly nextTurn: (run: () => void) => void;
  /** Resolves when the next step may begin, in another turn. */
  readonly pause: () => Promise<void>;
}

export function createPace(stepMs: number, { nowMs, nextTurn, pause }: PacePorts): Pace {
  let sinceMs: number | null = null;
  const endTurn = (): void => {
    sinceMs = null;
  };
  return () => {
    const now = nowMs();
    if (sinceMs === null) {
      sinceMs = now;
      nextTurn(endTurn);
      return null;
    }
    return now - sinceMs < stepMs ? null : pause();
  };
}
