// The simulator: whole worlds with their faults, each seed from its first event to its verdict. `run` runs in a child process.

import { setImmediate as nextTurn } from "node:timers/promises";
import { runSeed } from "../../sim/run-seed.ts";
import { count, figure, type Measured, median } from "../figures.ts";
import { spend } from "../work.ts";
import type { World } from "../world.ts";

const program = "sections/sim.ts";

export async function measureSim(world: World): Promise<readonly Measured[]> {
  world.say("sim: seeds");
  const measured = world.size(400, 20);
  const rounds = await Array.fromAsync({ length: world.size(3, 1) }, async () => {
    await using child = world.start();
    await child.call(program, "run", world.size(100, 5));
    return await child.call(program, "run", measured);
  });
  const of = (value: (result: (typeof rounds)[number]) => number): number => median(rounds.map(value));
  const perMinute = (ms: number): number => (measured / ms) * 60_000;
  const byTheClock = of(({ elapsedMs }) => perMinute(elapsedMs));
  const note =
    `Of processor time, every thread of the process counted; ${count(Math.round(byTheClock))} ` +
    `by the clock. Seeds 1 to ${measured}, all invariants checked, after 100 to warm up.`;
  const eventsNote =
    "Of processor time. 1,000 seeds a minute at 2,000 events each are 33,000 events a second.";
  const seeds = of(({ cpuMs }) => perMinute(cpuMs));
  const ofSeed = of(({ events }) => events / measured);
  const events = of(({ events, cpuMs }) => (events / cpuMs) * 1_000);
  return [
    figure("seeds a minute of one core", "seeds/min", seeds, { atLeast: 1_000 }, note),
    figure("events a seed", "events", ofSeed, null, "The goal for seeds a minute is set for about 2,000."),
    figure("events of simulated worlds", "events/s", events, { atLeast: 33_000 }, eventsNote),
  ];
}

/** Runs the same seeds each time, from the first, one after another on the main thread: worlds differ in size. */
export async function run(seeds: number) {
  let events = 0;
  const { elapsedMs, cpu } = await spend(async () => {
    for (let seed = 1; seed <= seeds; seed += 1) {
      const result = await runSeed(seed);
      if (result.violations.length > 0) throw new Error(`seed ${seed} fails: npm run sim -- --seed ${seed}`);
      events += result.events;
      await nextTurn();
    }
  });
  return { events, elapsedMs, cpuMs: cpu.allMs };
}
