// How what a node does shares its one thread: steps of long work, and whose turn it is between them.

import {
  createOwnerPlaces,
  createPace,
  createRightOfWay,
  type EventLoop,
  type OwnerTurns,
  type PaceOf,
  type RightOfWay,
} from "../../std/work.ts";

/** About as long as a search takes by itself. */
const patienceMs = 10;
/** How long work may keep the thread at a stretch: what somebody waits for, and what nobody waits for. */
const requestStepMs = 3;
const queuedStepMs = 2;
export interface ThreadTurns {
  readonly rightOfWay: RightOfWay;
  readonly searchTurns: OwnerTurns;
  readonly paces: { readonly inline: PaceOf; readonly queued: PaceOf };
}

/** `searchPlaces` is how many searches the index is given at once. */
export function createThreadTurns(loop: EventLoop, searchPlaces: number): ThreadTurns {
  const rightOfWay = createRightOfWay(patienceMs, loop);
  const paceOf = (stepMs: number, isWaitedFor: boolean): PaceOf =>
    createPace(stepMs, { ...loop, pause: (owner) => rightOfWay.pause(owner, isWaitedFor) });
  return {
    rightOfWay,
    searchTurns: createOwnerPlaces(searchPlaces),
    paces: { inline: paceOf(requestStepMs, true), queued: paceOf(queuedStepMs, false) },
  };
}
