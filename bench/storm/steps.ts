// In the process of a running node: the longest step of its deciding thread during a turn of the storm. What the node itself tells is of
// the last minute or two, and so of several turns.

import { type LongestStep, watchLongestStep } from "../../node/telemetry/timings.ts";

let watched: LongestStep | null = null;

export function start(): void {
  watched = watchLongestStep();
}

/** Milliseconds of processor time. */
export function stop(): number {
  watched?.close();
  return watched?.longestMs() ?? Number.NaN;
}
