// Processor time of a measured process: what remains comparable when other processes use the same cores.

export interface CpuTimes {
  /** Milliseconds of all threads, including the thread pool and SQLite's checkpoints. */
  readonly allMs: number;
  /** Milliseconds of the main thread, which bounds the rate when there are enough cores. */
  readonly mainMs: number;
}

/** Processor times since this process started. */
export function cpuTimes(): CpuTimes {
  const [all, main] = [process.cpuUsage(), process.threadCpuUsage()];
  return { allMs: (all.user + all.system) / 1_000, mainMs: (main.user + main.system) / 1_000 };
}

export function cpuBetween(before: CpuTimes, after: CpuTimes): CpuTimes {
  return { allMs: after.allMs - before.allMs, mainMs: after.mainMs - before.mainMs };
}
