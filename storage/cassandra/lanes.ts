// Bounded concurrency: many small statements run side by side, and never more than the engine is good for.

export interface Lanes {
  /** Runs `task` as soon as a lane is free, in the order asked. */
  run<T>(task: () => Promise<T>): Promise<T>;
  /** Runs all; answers in their order once none is running. After a failure none is begun; the first one is thrown. */
  all<T>(tasks: readonly (() => Promise<T>)[]): Promise<readonly T[]>;
}

export function createLanes(lanesMax: number): Lanes {
  let running = 0;
  const waiting: (() => void)[] = [];
  let head = 0;
  const release = (): void => {
    const next = waiting[head];
    if (next === undefined) {
      running -= 1;
      return;
    }
    head += 1;
    if (head === waiting.length) {
      waiting.length = 0;
      head = 0;
    }
    next();
  };
  const enter = (): Promise<void> | null => {
    if (running < lanesMax) {
      running += 1;
      return null;
    }
    return new Promise((resolve) => waiting.push(resolve));
  };
  const run = async <T>(task: () => Promise<T>): Promise<T> => {
    const turn = enter();
    if (turn !== null) await turn;
    try {
      return await task();
    } finally {
      release();
    }
  };
  return { run, all: (tasks) => runAll(run, lanesMax, tasks) };
}

async function runAll<T>(
  run: Lanes["run"],
  lanesMax: number,
  tasks: readonly (() => Promise<T>)[],
): Promise<readonly T[]> {
  const results: T[] = new Array(tasks.length);
  let next = 0;
  let failure: { readonly error: unknown } | null = null;
  const worker = async (): Promise<void> => {
    while (failure === null && next < tasks.length) {
      const at = next;
      next += 1;
      const task = tasks[at];
      if (task === undefined) return;
      try {
        results[at] = await run(task);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(lanesMax, tasks.length) }, worker));
  if (failure !== null) throw (failure as { readonly error: unknown }).error;
  return results;
}
