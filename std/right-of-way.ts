// Lets what somebody waits for go first, on the one thread that all share with work in the background.
//   R1. Work in the background takes its steps one at a time, each in a turn of its own of the event loop.
//   R2. While something is under way that somebody waits for, no step begins, except one every `patienceMs`: the background
//       is slowed down by a busy foreground, and never stopped.
//   R3. Where both wait, three steps of what somebody waits for go before one of what nobody waits for.

import type { EventLoop } from "./event-loop.ts";

export interface RightOfWay {
  /** Does what somebody waits for. */
  during<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves when the next step may begin, of long work that somebody waits for, or nobody. */
  pause(isWaitedFor?: boolean): Promise<void>;
}

type Queue = (() => void)[];

/** See R3. */
const inRowMax = 3;

export function createRightOfWay(
  patienceMs: number,
  { nextTurn, after }: Pick<EventLoop, "nextTurn" | "after">,
): RightOfWay {
  const inRequests: Queue = [];
  const inBackground: Queue = [];
  let inRow = 0;
  let underWay = 0;
  let isTurnTaken = false;
  let endPatience: (() => void) | null = null;
  const step = (): void => {
    const isBackground = inRequests.length === 0 || (inRow >= inRowMax && inBackground.length > 0);
    inRow = isBackground ? 0 : inRow + 1;
    (isBackground ? inBackground : inRequests).shift()?.();
    schedule();
  };
  const patienceEnded = (): void => {
    endPatience = null;
    step();
  };
  const takeTurn = (): void => {
    isTurnTaken = false;
    if (underWay === 0) step();
    else schedule();
  };
  const schedule = (): void => {
    if (inRequests.length + inBackground.length === 0) return;
    if (underWay > 0) endPatience ??= after(patienceMs, patienceEnded);
    else if (!isTurnTaken) {
      isTurnTaken = true;
      nextTurn(takeTurn);
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
          endPatience?.();
          endPatience = null;
          schedule();
        }
      }
    },
    pause: (isWaitedFor = false) =>
      new Promise((resolve) => {
        (isWaitedFor ? inRequests : inBackground).push(resolve);
        schedule();
      }),
  };
}
