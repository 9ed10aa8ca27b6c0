// Bounded concurrency: a bounded number of tasks run at once, the others wait.
// Also work that is done for all who asked before it began.
//   P1. Never more than `runningMax` tasks run at once.
//   P2. Tasks start in the order in which they were submitted: a freed slot goes to the next waiting task, so no newcomer
//       overtakes it.
//   P3. If a slot is free, the task starts before `run` returns.

export class Semaphore {
  readonly #runningMax: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  /**
   * The number of entries at the front of `#waiting` that have started: removing the first entry of a long list would move
   * all others.
   */
  #begun = 0;

  constructor(runningMax: number) {
    this.#runningMax = runningMax;
  }

  /** Number of tasks that wait for a slot. */
  get waiting(): number {
    return this.#waiting.length - this.#begun;
  }

  /** Runs `work` as soon as there is a slot for it; settles as it does. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#runningMax) this.#running += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      this.#release();
    }
  }

  /**
   * Runs all tasks; resolves with the results in order once none is running. After a failure no further task starts; the
   * first failure is thrown.
   */
  async all<T>(works: readonly (() => Promise<T>)[]): Promise<readonly T[]> {
    const results: T[] = new Array(works.length);
    const failures: unknown[] = [];
    let next = 0;
    const worker = async (): Promise<void> => {
      while (failures.length === 0 && next < works.length) {
        const at = next;
        next += 1;
        const work = works[at];
        if (work === undefined) return;
        try {
          results[at] = await this.run(work);
        } catch (error) {
          failures.push(error);
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(this.#runningMax, works.length) }, worker));
    if (failures.length > 0) throw failures[0];
    return results;
  }

  #release(): void {
    const next = this.#waiting[this.#begun];
    if (next === undefined) {
      this.#running -= 1;
      return;
    }
    this.#begun += 1;
    if (this.#begun === this.#waiting.length) {
      this.#waiting.length = 0;
      this.#begun = 0;
    }
    next();
  }
}

// Work that is done for all who asked before it began, and once at a time.

/** A call during a run is answered by a run that starts after it, so its caller sees what it has just written: all who ask meanwhile share that run. */
export function oneAtATime(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;
  const start = (): Promise<void> => {
    running = run().finally(() => {
      running = null;
    });
    return running;
  };
  return () => {
    if (running === null) return start();
    next ??= running
      .catch(() => {})
      .then(() => {
        next = null;
        return start();
      });
    return next;
  };
}
