// The simulator: whole worlds with their faults, each seed from its first event to its verdict.

import type { Figure } from "../report.ts";
import { median } from "../rounds.ts";
import type { SeedsLoad, SeedsResult } from "../sim/seeds.ts";
import type { World } from "../world.ts";

const minuteMs = 60_000;
/** The same seeds each time: worlds differ in size. */
const from = 1;

export async function measureSim(world: World): Promise<readonly Figure[]> {
  world.say("sim: seeds");
  const rounds: SeedsResult[] = [];
  for (let round = 0; round < world.size(3, 1); round += 1) {
    await using child = world.start("sim/seeds.ts");
    await child.call<SeedsResult>("run", { from, seeds: world.size(100, 5) } satisfies SeedsLoad);
    rounds.push(
      await child.call<SeedsResult>("run", { from, seeds: world.size(400, 20) } satisfies SeedsLoad),
    );
  }
  const common = { section: "sim", floor: null, ratio: null } as const;
  const eventsEach = median(rounds.map(({ events, seeds }) => events / seeds));
  const byTheClock = median(rounds.map(({ elapsedMs, seeds }) => (seeds / elapsedMs) * minuteMs));
  return [
    {
      ...common,
      name: "seeds a minute of one core",
      unit: "seeds/min",
      ours: median(rounds.map(({ cpuMs, seeds }) => (seeds / cpuMs) * minuteMs)),
      goal: { atLeast: 1_000 },
      note:
        `Of processor time, every thread of the process counted; ${Math.round(byTheClock).toLocaleString("en")} ` +
        `by the clock. Seeds ${from} to ${from + world.size(400, 20) - 1}, all invariants checked, after 100 to warm up.`,
    },
    {
      ...common,
      name: "events a seed",
      unit: "events",
      ours: eventsEach,
      goal: null,
      note: "The goal for seeds a minute is set for about 2,000.",
    },
    {
      ...common,
      name: "events of simulated worlds",
      unit: "events/s",
      ours: median(rounds.map(({ cpuMs, events }) => (events / cpuMs) * 1_000)),
      goal: { atLeast: 33_000 },
      note: "Of processor time. 1,000 seeds a minute at 2,000 events each are 33,000 events a second.",
    },
  ];
}
