// Whose work is next, where it takes the one thread that all share: what one owner asks for may be dear, or much, and would keep all
// others waiting for as long as it likes.
//   OT1. Work begins at once while such work has taken less than `stretchMs` of the present turn of the event loop. Further work waits for
//        the next turn, and between them everything else has its own.
//   OT2. Turns go round the owners that wait; of one owner, the first to come goes first. Between two pieces of work of one owner, each
//        other owner that waited all the time had one.
//   OT3. An owner that nothing waits for is forgotten.
// What another machine does takes hardly any time here, so it never waits.

import type { EventLoop } from "./event-loop.ts";

/** Does the work at once, or in its turn. */
export type OwnerTurns = <T>(owner: string, work: () => T | Promise<T>) => T | Promise<T>;

export function createOwnerTurns(
  stretchMs: number,
  { nowMs, nextTurn }: Pick<EventLoop, "nowMs" | "nextTurn">,
): OwnerTurns {
  /** In the order of their turns. */
  const waiting = new Map<string, (() => void)[]>();
  let spentMs = 0;
  let isScheduled = false;
  const begin = <T>(work: () => T | Promise<T>): T | Promise<T> => {
    const startedMs = nowMs();
    try {
      return work();
    } finally {
      spentMs += nowMs() - startedMs;
      if (spentMs >= stretchMs) schedule();
    }
  };
  const schedule = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    nextTurn(takeTurn);
  };
  const takeTurn = (): void => {
    isScheduled = false;
    spentMs = 0;
    for (const [owner, [next, ...others]] of waiting) {
      waiting.delete(owner);
      if (others.length > 0) waiting.set(owner, others);
      next?.();
      if (spentMs >= stretchMs) break;
    }
    if (waiting.size > 0) schedule();
  };
  return (owner, work) => {
    if (waiting.size === 0 && spentMs < stretchMs) return begin(work);
    const queue = waiting.get(owner) ?? [];
    waiting.set(owner, queue);
    schedule();
    return new Promise((resolve) => {
      // What is thrown rejects the promise as well.
      queue.push(() => resolve(new Promise((settle) => settle(begin(work)))));
    });
  };
}
