// How work is done many times, and what it costs in time, processor time and memory, in the benchmark's process and in its children. It
// imports nothing of the project, so that it runs in any checkout (against.ts).

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Does `work` for every number below `count`, in their order, in as many lanes, of which each does one at a time. */
export async function inLanes(
  lanes: number,
  count: number,
  work: (at: number, lane: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const run = async (lane: number): Promise<void> => {
    while (next < count) {
      const at = next;
      next += 1;
      await work(at, lane);
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, lane) => run(lane)));
}

export async function msOf(work: () => unknown): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

/** Processor time of a measured process: what remains comparable when other processes use the same cores. */
export interface CpuTimes {
  /** Milliseconds of all threads, including the thread pool and SQLite's checkpoints. */
  readonly allMs: number;
  /** Milliseconds of the main thread, which bounds the rate when there are enough cores. */
  readonly mainMs: number;
}

export function cpuTimes(): CpuTimes {
  const [all, main] = [process.cpuUsage(), process.threadCpuUsage()];
  return { allMs: (all.user + all.system) / 1_000, mainMs: (main.user + main.system) / 1_000 };
}

/** What work took, in time and in processor time of one process. */
export interface Spent {
  readonly elapsedMs: number;
  readonly cpu: CpuTimes;
}

/** What work takes of the process to which `cpu` belongs; by default it is this one. */
export async function spend<T>(
  work: () => Promise<T>,
  cpu: () => CpuTimes | Promise<CpuTimes> = cpuTimes,
): Promise<Spent & { readonly result: T }> {
  const before = await cpu();
  const startedMs = performance.now();
  const result = await work();
  const elapsedMs = performance.now() - startedMs;
  const after = await cpu();
  const cpuOf = (times: keyof CpuTimes): number => after[times] - before[times];
  return { result, elapsedMs, cpu: { allMs: cpuOf("allMs"), mainMs: cpuOf("mainMs") } };
}

/** What one after the other took together. */
export function sumOf(parts: readonly Spent[]): Spent {
  const sum = (of: (part: Spent) => number): number => parts.reduce((total, part) => total + of(part), 0);
  return {
    elapsedMs: sum(({ elapsedMs }) => elapsedMs),
    cpu: { allMs: sum(({ cpu }) => cpu.allMs), mainMs: sum(({ cpu }) => cpu.mainMs) },
  };
}

/** What one operation cost: elapsed time, and processor time of the main thread and of all. */
export type Cost = Readonly<Record<"micros" | "mainMicros" | "allMicros", number>>;

export function costOf({ elapsedMs, cpu }: Spent, operations: number): Cost {
  const microsOf = (ms: number): number => (ms * 1_000) / operations;
  return { micros: microsOf(elapsedMs), mainMicros: microsOf(cpu.mainMs), allMicros: microsOf(cpu.allMs) };
}

/** This process's memory, once what nobody needs has been collected. */
export function heldMemory(): NodeJS.MemoryUsage {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  return process.memoryUsage();
}

/** Bytes of this process's heap in use, as in {@link heldMemory}. */
export function heldBytes(): number {
  return heldMemory().heapUsed;
}
