// How much garbage V8 lets gather before it looks for it.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

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

/**
 * Collects the garbage of the calling thread, and returns the memory to the system. The thread stands still for about 1 ms for each
 * MiB in use. V8 does it by itself where nothing was collected for 100 s and little is allocated.
 */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect: (options: { readonly type: "major" }) => void = runInNewContext("gc");
  collect({ type: "major" });
}
