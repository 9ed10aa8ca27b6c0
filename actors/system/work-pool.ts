// How many activities of one name run at once. Names have pools of their own because an activity may wait for an
// actor that needs another activity: one pool for all could fill up with the waiting ones.

import { Semaphore } from "../../std/semaphore.ts";

export class WorkPool {
  readonly #runningMax: number;
  readonly #pools = new Map<string, Semaphore>();

  constructor(runningMax: number) {
    this.#runningMax = runningMax;
  }

  run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const pool = this.#pools.get(name) ?? new Semaphore(this.#runningMax);
    this.#pools.set(name, pool);
    return pool.run(work);
  }
}
