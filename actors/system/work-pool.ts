// Bounds how many activities of one name run at once. Each name has its own pool, because an activity may wait for an
// actor that needs another activity: a single pool could fill up with waiting ones.

import { Semaphore } from "../../std/semaphore.ts";

export class WorkPool {
  readonly #runningMax: number;
  readonly #pools = new Map<string, Semaphore>();

  constructor(runningMax: number) {
    this.#runningMax = runningMax;
  }

  /** Number of activities that wait for their turn. */
  get waiting(): number {
    let waiting = 0;
    for (const pool of this.#pools.values()) waiting += pool.waiting;
    return waiting;
  }

  run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const pool = this.#pools.get(name) ?? new Semaphore(this.#runningMax);
    this.#pools.set(name, pool);
    return pool.run(work);
  }
}
