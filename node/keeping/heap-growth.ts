// How much garbage V8 lets gather before it looks for it.

import { setFlagsFromString } from "node:v8";

/** Percentage of the live heap that may be allocated on top of it before a full collection. */
const growingPercent = 150;

/**
 * Bounds the heaps of this process, those of its threads included, to two and a half times what was in use at the last full
 * collection; the first one comes when V8 thinks fit. V8 otherwise
 * lets a heap that is filled quickly grow to four times that: the import of a large file took 270 MiB instead of 180,
 * nearly all of it garbage. A node calls it once, before it loads its own code; a library must not.
 */
export function boundHeapGrowth(): void {
  setFlagsFromString(`--heap-growing-percent=${growingPercent}`);
}
