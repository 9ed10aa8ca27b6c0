// Bounded concurrency: a bounded number of pieces of work are under way at once, the others wait.
//   P1. Never more than `runningMax` run at once.
//   P2. Work begins in the order asked: a place is handed on to who waits, so nobody who comes now is served before.
//   P3. Where a place is free, work begins before `run` returns.

export class Semaphore {
  readonly #runningMax: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  /** Of those in `#waiting`, how many have begun: taking the first out of a long list would move all the others. */
  #begun = 0;

  constructor(runningMax: number) {
    this.#runningMax = runningMax;
  }

  /** Runs `work` as soon as there is a place for it; settles as it does. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#runningMax) this.#running += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      this.#release();
    }
  }

  /** Runs all; answers in their order once none is running. After a failure none is begun; the first one is thrown. */
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
