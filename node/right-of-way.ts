// Lets what somebody waits for go first, on the one thread that all share with work in the background.
//   R1. Work in the background takes its steps one at a time, each in a turn of its own of the event loop.
//   R2. While something is under way that somebody waits for, no step begins, except one every `patienceMs`: the background
//       is slowed down by a busy foreground, and never stopped.

export interface RightOfWay {
  /** Does what somebody waits for. */
  during<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves when the next step in the background may begin. */
  pause(): Promise<void>;
}

export function createRightOfWay(patienceMs: number): RightOfWay {
  const waiting: (() => void)[] = [];
  let underWay = 0;
  let isTurnTaken = false;
  let patience: NodeJS.Timeout | null = null;
  const step = (): void => {
    waiting.shift()?.();
    schedule();
  };
  const endPatience = (): void => {
    patience = null;
    step();
  };
  const takeTurn = (): void => {
    isTurnTaken = false;
    if (underWay === 0) step();
    else schedule();
  };
  const schedule = (): void => {
    if (waiting.length === 0) return;
    if (underWay > 0) patience ??= setTimeout(endPatience, patienceMs);
    else if (!isTurnTaken) {
      isTurnTaken = true;
      setImmediate(takeTurn);
    }
  };
  return {
    during: async (work) => {
      underWay += 1;
      try {
        return await work();
      } finally {
        underWay -= 1;
        if (underWay === 0) {
          if (patience !== null) clearTimeout(patience);
          patience = null;
          schedule();
        }
      }
    },
    pause: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      schedule();
      return promise;
    },
  };
}
