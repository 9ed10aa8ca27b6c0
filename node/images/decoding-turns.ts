// Whose image is decoded next (D2 in ad-images.ts).

import { createFairTurns, type FairTurns } from "../../std/fair-queue.ts";

const decodingMax = 2;

export function createDecodingTurns(waitingMax = 32): FairTurns {
  return createFairTurns({ placesMax: decodingMax, waitingMax });
}
