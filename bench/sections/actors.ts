// The actor system without a service around it: durable calls against bare commits, messages in memory against bare transitions, what
// a passivated actor costs, calls to another node against bare `ws`, and whole simulated worlds.

import type { CallLoad, RecordedCommits } from "../actors/program.ts";
import type { Contest } from "../against.ts";
import {
  compare,
  compareBy,
  count,
  type Figure,
  figuresOf,
  median,
  sidesText,
  takeRounds,
} from "../figures.ts";
import { costOf } from "../work.ts";
import type { World } from "../world.ts";

const actors = 500;
const program = "actors/program.ts";
const figure = figuresOf("actors");

export async function measureActors(world: World): Promise<readonly Figure[]> {
  const calls = world.size(100_000, 5_000);
  return [
    await durable(world, { callers: 64, calls, isGoal: true }),
    await durable(world, { callers: actors, calls, isGoal: true }),
    await durable(world, { callers: actors * 64, calls: world.size(500_000, 64_000), isGoal: false }),
    await messages(world),
    await passive(world),
  ];
}

type DurableCase = Pick<CallLoad, "callers" | "calls">;

function loadOf(world: World, { callers, calls }: DurableCase): CallLoad {
  return { at: world.path("actors.db"), actors, callers, calls };
}

/** Milliseconds that the floor takes for the commits. */
async function replay(world: World, groups: RecordedCommits): Promise<number> {
  await using floor = world.startFloor();
  return await floor.call("floor/fenced-commits.ts", "replay", world.path("commits.db"), groups);
}

async function durable(world: World, of: DurableCase & { readonly isGoal: boolean }): Promise<Figure> {
  const { callers, calls, isGoal } = of;
  world.say(`actors: durable calls, ${callers} at once`);
  const groups = await world.callIn(program, "record", loadOf(world, of));
  const commits = groups.flat().length;
  const rounds = await takeRounds(world.size(5, 1), {
    ours: async () => (calls / (await world.callIn(program, "run", loadOf(world, of))).elapsedMs) * 1_000,
    // The recorded commits include the first call of every actor.
    floor: async () => ((calls + actors) / (await replay(world, groups))) * 1_000,
  });
  const perGroup = Math.round(commits / groups.length);
  const perCommit = Math.round((calls + actors) / commits);
  const why = isGoal
    ? ""
    : " The floor decides nothing and runs no machine, which is most of a call that shares its commit.";
  const note =
    "One thread on both sides, and one that copies SQLite's log; every transaction synced to disk. " +
    `${perGroup} fenced commits share a transaction, ${perCommit === 1 ? "one call" : `${perCommit} calls`} each.${why}`;
  const name = `durable calls over ${actors} actors, ${count(callers)} at once`;
  return figure(name, "calls/s", compare(rounds), isGoal ? { atLeast: 0.4 } : null, note);
}

/** The same durable calls of the actor systems of two checkouts, each in a new process. */
export async function contestOfCalls(present: World, other: World, callers: number): Promise<Contest> {
  const of = { callers, calls: 10_000 };
  const groups = await present.callIn(program, "record", loadOf(present, of));
  const side = (world: World) => async () =>
    costOf(await world.callIn(program, "run", loadOf(world, of)), of.calls);
  return {
    // Each turn is a new process.
    warmingTurns: 1,
    name: `actors: durable calls over ${actors} actors, ${callers} at once, ${count(of.calls)} in each turn`,
    ...{ present: side(present), other: side(other) },
    floor: async () => ({ micros: ((await replay(present, groups)) * 1_000) / of.calls }),
  };
}

async function messages(world: World): Promise<Figure> {
  world.say("actors: in-memory messages");
  const load = { actors, messages: world.size(2_000_000, 100_000) };
  const side = (name: "messages" | "transitions") => async () =>
    (load.messages / (await world.callIn(program, name, load))) * 1_000;
  const sides = { ours: side("messages"), floor: side("transitions") };
  const rates = compare(await takeRounds(world.size(5, 1), sides));
  const note =
    "One thread on both sides. The floor is the same machine's transition function with one scope for all calls.";
  return figure(`in-memory messages over ${actors} actors`, "messages/s", rates, { atLeast: 0.5 }, note);
}

async function passive(world: World): Promise<Figure> {
  const total = world.size(1_000_000, 20_000);
  world.say(`actors: ${total} known actors`);
  const warmUp = world.size(150_000, 20_000);
  const load = { file: world.path("passive.db"), warmUp, actors: total };
  const { addedBytes, addedHeapBytes, elapsedMs } = await world.callIn(program, "passive", load);
  const [megabytes, heapMegabytes] = [addedBytes / 1_000_000, addedHeapBytes / 1_000_000];
  const note =
    `Resident memory after they were created through the system and had left it, less that before; ${count(warmUp)} others had come and gone then. ` +
    `Heap in use: ${heapMegabytes.toFixed(1)} MB more. Creating them took ${(elapsedMs / 1_000).toFixed(0)} s.`;
  return figure(`memory of ${count(total)} known, passivated actors`, "MB", megabytes, { atMost: 50 }, note);
}

const callers = 64;

export async function measureTransport(world: World): Promise<readonly Figure[]> {
  const calls = world.size(200_000, 10_000);
  /** Half of what the floor sustains. */
  const perSecond = (await measureCalls(world, "Bare", calls, null)).saturated.perSecond / 2;
  const side = (kind: "" | "Bare") => async (round: number) => {
    world.say(`transport, round ${round + 1}: ${kind === "" ? "ours" : "the floor"}`);
    return await measureCalls(world, kind, calls, perSecond);
  };
  const rounds = await takeRounds(world.size(5, 1), { ours: side(""), floor: side("Bare") });
  const cpu = sidesText(rounds, ({ saturated }) => (saturated.cpu.mainMs / calls) * 1_000, 1);
  const p99 = sidesText(rounds, ({ paced }) => paced.p99Ms, 2);
  const [rates, p50] = [
    compareBy(rounds, ({ saturated }) => saturated.perSecond),
    compareBy(rounds, ({ paced }) => paced.p50Ms),
  ];
  const note =
    `Two processes on each side, one connection, the same commands and answers as JSON. Processor time of the calling process's main thread ${cpu} µs a call. ` +
    "Ours authenticates every frame, knows doubled calls, bounds what waits, and times every call; messages of one turn of the event loop share a frame.";
  const pacedNote = `The rate is half of what bare ws reached before the rounds; both sides are called at this rate. p99 ${p99} ms.`;
  const pacedName = `p50 of a call at ${count(Math.round(perSecond))} calls/s`;
  const ofTransport = figuresOf("transport");
  return [
    ofTransport(`calls to another node, ${callers} at once`, "calls/s", rates, { atLeast: 0.5 }, note),
    ofTransport(pacedName, "ms", p50, { atMost: 3 }, pacedNote),
  ];
}

/** As many calls as possible, and then calls at a steady rate unless that is null. */
async function measureCalls(world: World, kind: "" | "Bare", calls: number, perSecond: number | null) {
  await using answering = world.start();
  await using calling = world.start();
  const address = await answering.call("transport.ts", `listen${kind}`);
  await calling.call("transport.ts", `connect${kind}`, address);
  await calling.call("transport.ts", "saturate", Math.ceil(calls / 4), callers);
  const saturated = await calling.call("transport.ts", "saturate", calls, callers);
  if (perSecond === null) return { saturated, paced: saturated };
  const paced = Math.ceil(perSecond * world.size(4, 1));
  return { saturated, paced: await calling.call("transport.ts", "pace", paced, perSecond) };
}

const minuteMs = 60_000;

/** The simulator: whole worlds with their faults, each seed from its first event to its verdict. */
export async function measureSim(world: World): Promise<readonly Figure[]> {
  world.say("sim: seeds");
  const measured = world.size(400, 20);
  const rounds = await Array.fromAsync({ length: world.size(3, 1) }, async () => {
    await using child = world.start();
    await child.call("sim/seeds.ts", "run", world.size(100, 5));
    return await child.call("sim/seeds.ts", "run", measured);
  });
  type Seeds = (typeof rounds)[number];
  const of = (value: (result: Seeds) => number): number => median(rounds.map(value));
  const perMinute = (ms: (result: Seeds) => number): number => of((each) => (measured / ms(each)) * minuteMs);
  const byTheClock = perMinute(({ elapsedMs }) => elapsedMs);
  const seeds = perMinute(({ cpuMs }) => cpuMs);
  const note =
    `Of processor time, every thread of the process counted; ${count(Math.round(byTheClock))} ` +
    `by the clock. Seeds 1 to ${measured}, all invariants checked, after 100 to warm up.`;
  const events = of(({ events, cpuMs }) => (events / cpuMs) * 1_000);
  const eventsNote =
    "Of processor time. 1,000 seeds a minute at 2,000 events each are 33,000 events a second.";
  const ofSeed = of((each) => each.events / measured);
  const ofSim = figuresOf("sim");
  return [
    ofSim("seeds a minute of one core", "seeds/min", seeds, { atLeast: 1_000 }, note),
    ofSim("events a seed", "events", ofSeed, null, "The goal for seeds a minute is set for about 2,000."),
    ofSim("events of simulated worlds", "events/s", events, { atLeast: 33_000 }, eventsNote),
  ];
}
