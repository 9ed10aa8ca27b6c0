// Long work as a generator that yields between its steps, so that its caller decides what happens in between.

/** Runs the work with a pause after each step. */
export async function inSteps<R>(work: Generator<void, R>, pause: () => Promise<void>): Promise<R> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    await pause();
  }
}

/** Runs the work at once. */
export function atOnce<R>(work: Generator<void, R>): R {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
