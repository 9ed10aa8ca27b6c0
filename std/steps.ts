// Long work as a generator that yields between its steps, so that its caller decides what happens in between.

import type { Pace } from "./pace.ts";

/** Runs the work at a pace, which it looks at after each step; work that is never due is done without a promise. */
export function inSteps<R>(work: Generator<void, R>, pace: Pace): R | Promise<R> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    const due = pace();
    if (due !== null) return goOn(work, pace, due);
  }
}

async function goOn<R>(work: Generator<void, R>, pace: Pace, due: Promise<void>): Promise<R> {
  await due;
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    const again = pace();
    if (again !== null) await again;
  }
}

/** Runs the work at once. */
export function atOnce<R>(work: Generator<void, R>): R {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
