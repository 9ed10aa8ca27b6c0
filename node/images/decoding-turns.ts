// Whose image is decoded next (D2 in ad-images.ts).

import { FairQueue } from "../../std/fair-queue.ts";

const decodingMax = 2;

/** What waits for its turn: it is told whether it has one. */
interface Waiting {
  readonly decide: (isPlaced: boolean) => void;
}

/** Resolves with a function that ends the turn; null if there is no room to wait for one. */
export type DecodingTurns = (owner: string) => Promise<(() => void) | null>;

export function createDecodingTurns(waitingMax = 32): DecodingTurns {
  const queue = new FairQueue<Waiting>({
    ...{ placesMax: decodingMax, placesPerOwnerMax: 1, waitingMax },
    // Each place is given back within a bounded time, so nobody waits for long.
    ...{ waitMs: Number.POSITIVE_INFINITY, unsettledMs: Number.POSITIVE_INFINITY },
  });
  const tell = (decided: ReturnType<typeof queue.leave>): void => {
    for (const { holder, verdict } of decided) holder.decide(verdict === "placed");
  };
  return async (owner) => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiting: Waiting = { decide: resolve };
    tell(queue.enter(waiting, { owner, isSettled: true, nowMs: 0 }));
    return (await promise) ? () => tell(queue.leave(waiting, 0)) : null;
  };
}
