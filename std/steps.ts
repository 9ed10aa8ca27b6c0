// Long work as a generator that yields between its steps, so that its caller decides what happens in between.

import type { Pace } from "./pace.ts";

/** Runs the work at a pace, which it looks at after each step. */
export async function inSteps<R>(work: Generator<void, R>, pace: Pace): Promise<R> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    const due = pace();
    if (due !== null) await due;
  }
}

/** Runs the work at once. */
export function atOnce<R>(work: Generator<void, R>): R {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
