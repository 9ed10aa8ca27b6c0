// Whose search is next. The embedded index searches on the one thread that all share, so a company whose searches are dear, or many,
// would keep all others waiting for as long as it likes.
//   ST1. A search begins at once while searches have taken little of the present turn of the event loop. Further ones wait for the next
//        turn, and between them everything else has its own.
//   ST2. Turns go round the owners that wait; of one owner, the first to come goes first. Between two searches of one owner, each other
//        owner that waited all the time had one.
//   ST3. An owner that nothing waits for is forgotten.
// What another machine searches takes hardly any time here, so it never waits.

import type { SearchTurns } from "../service/search.ts";

/** How long searches may take at a stretch, in milliseconds: about one search by words that many rows have. */
const stretchMs = 5;

export function createSearchTurns(nowMs: () => number): SearchTurns {
  /** In the order of their turns. */
  const waiting = new Map<string, (() => void)[]>();
  let spentMs = 0;
  let isScheduled = false;
  const begin = <T>(work: () => Promise<T>): Promise<T> => {
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
    setImmediate(takeTurn);
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
    return new Promise((resolve, reject) => {
      queue.push(() => void begin(work).then(resolve, reject));
    });
  };
}
