// Child process: runs seeds of the simulator one after another, on its main thread.

import { runSeed } from "../../sim/run-seed.ts";
import { answerParent } from "../answer-parent.ts";

export interface SeedsLoad {
  readonly from: number;
  readonly seeds: number;
}

export interface SeedsResult {
  readonly seeds: number;
  readonly events: number;
  readonly elapsedMs: number;
  /** Processor time of all its threads: it excludes other processes, and includes what the platform does for this one. */
  readonly cpuMs: number;
}

async function run({ from, seeds }: SeedsLoad): Promise<SeedsResult> {
  const startedMs = performance.now();
  const cpuBefore = process.cpuUsage();
  let events = 0;
  for (let seed = from; seed < from + seeds; seed += 1) {
    const result = await runSeed(seed);
    if (result.violations.length > 0) throw new Error(`seed ${seed} fails: npm run sim -- --seed ${seed}`);
    events += result.events;
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { user, system } = process.cpuUsage(cpuBefore);
  return { seeds, events, elapsedMs: performance.now() - startedMs, cpuMs: (user + system) / 1_000 };
}

answerParent({ run });
