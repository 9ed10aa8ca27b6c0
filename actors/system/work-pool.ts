// How many activities of one name run at once. Names have pools of their own because an activity may wait for an
// actor that needs another activity: one pool for all could fill up with the waiting ones.

interface Pool {
  running: number;
  readonly waiting: (() => void)[];
}

export class WorkPool {
  readonly #runningMax: number;
  readonly #pools = new Map<string, Pool>();

  constructor(runningMax: number) {
    this.#runningMax = runningMax;
  }

  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const pool = this.#pools.get(name) ?? { running: 0, waiting: [] };
    this.#pools.set(name, pool);
    if (pool.running < this.#runningMax) pool.running += 1;
    else await new Promise<void>((resolve) => pool.waiting.push(resolve));
    try {
      return await work();
    } finally {
      // The place is handed on, so that nobody who comes now is served before those who wait.
      const next = pool.waiting.shift();
      if (next !== undefined) next();
      else pool.running -= 1;
    }
  }
}
