// Processor time of a measured process: what is left to compare when others use the same cores.

export interface CpuTimes {
  /** Milliseconds of all threads, the thread pool and SQLite's checkpoints included. */
  readonly allMs: number;
  /** Milliseconds of the main thread: what bounds the rate when there are cores enough. */
  readonly mainMs: number;
}

/** Since this process began. */
export function cpuTimes(): CpuTimes {
  const [all, main] = [process.cpuUsage(), process.threadCpuUsage()];
  return { allMs: (all.user + all.system) / 1_000, mainMs: (main.user + main.system) / 1_000 };
}

export function cpuBetween(before: CpuTimes, after: CpuTimes): CpuTimes {
  return { allMs: after.allMs - before.allMs, mainMs: after.mainMs - before.mainMs };
}
