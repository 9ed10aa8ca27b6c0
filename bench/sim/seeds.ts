// In a child process: runs seeds of the simulator one after another, on its main thread.

import { runSeed } from "../../sim/run-seed.ts";
import { spend } from "../work.ts";

/** The same seeds each time, from the first: worlds differ in size. */
export async function run(seeds: number) {
  let events = 0;
  const { elapsedMs, cpu } = await spend(async () => {
    for (let seed = 1; seed <= seeds; seed += 1) {
      const result = await runSeed(seed);
      if (result.violations.length > 0) throw new Error(`seed ${seed} fails: npm run sim -- --seed ${seed}`);
      events += result.events;
      await new Promise((resolve) => setImmediate(resolve));
    }
  });
  return { events, elapsedMs, cpuMs: cpu.allMs };
}
