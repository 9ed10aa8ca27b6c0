// The child's side of child.ts: named functions that the main process calls, and what a process knows of its own cost. It imports
// nothing of the project, so that it runs in any checkout (against.ts).

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** A function by its name; the main process knows the parameters and result of each, so each may declare its own types. */
export type Functions = Readonly<Record<string, { call(params: unknown): unknown }["call"]>>;

/** Answers calls until the main process disconnects; then `close` runs and the process ends. */
export function answerParent(functions: Functions, close: () => Promise<void> = async () => {}): void {
  process.on("message", async (message) => {
    const { id, name, params } = message as { id: number; name: string; params: unknown };
    try {
      const answer = functions[name];
      if (answer === undefined) throw new Error(`there is no function ${name}`);
      process.send?.({ id, result: await answer(params) });
    } catch (error) {
      process.send?.({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  });
  process.once("disconnect", () => {
    close().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
}

/** Processor time of a measured process: what remains comparable when other processes use the same cores. */
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

/** What work took, in time and in processor time of one process. */
export interface Spent {
  readonly elapsedMs: number;
  readonly cpu: CpuTimes;
}

/** What work takes of this process. */
export async function spendHere(work: () => Promise<unknown>): Promise<Spent> {
  const cpuBefore = cpuTimes();
  const startedMs = performance.now();
  await work();
  return { elapsedMs: performance.now() - startedMs, cpu: cpuBetween(cpuBefore, cpuTimes()) };
}

/** Bytes of this process's heap in use, once what nobody needs has been collected. */
export function heldBytes(): number {
  return heldMemory().heapUsed;
}

export function heldMemory(): NodeJS.MemoryUsage {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  return process.memoryUsage();
}
