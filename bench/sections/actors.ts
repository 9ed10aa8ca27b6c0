// The actor system without a service around it: durable calls against bare commits, messages in memory against bare transitions, and
// what a passivated actor costs.

import type { CallLoad, RecordedCommits } from "../actors/program.ts";
import type { Contest } from "../against.ts";
import { compare, count, figure, type Measured, takeRounds } from "../figures.ts";
import { costOf } from "../work.ts";
import type { World } from "../world.ts";

const actors = 500;
const program = "actors/program.ts";

export async function measureActors(world: World): Promise<readonly Measured[]> {
  const calls = world.size(100_000, 5_000);
  return [
    await durable(world, 64, calls),
    await durable(world, actors, calls),
    await messages(world),
    await passive(world),
  ];
}

function loadOf(world: World, callers: number, calls: number): CallLoad {
  return { at: world.path("actors.db"), actors, callers, calls };
}

async function replay(world: World, groups: RecordedCommits): Promise<number> {
  await using floor = world.startFloor();
  return await floor.call("floor/fenced-commits.ts", "replay", world.path("commits.db"), groups);
}

async function durable(world: World, callers: number, calls: number): Promise<Measured> {
  world.say(`actors: durable calls, ${callers} at once`);
  const groups = await world.callIn(program, "record", loadOf(world, callers, calls));
  const commits = groups.flat().length;
  const ours = () => world.callIn(program, "run", loadOf(world, callers, calls));
  const rounds = await takeRounds(world.size(5, 1), {
    ours: async () => (calls / (await ours()).elapsedMs) * 1_000,
    // The recorded commits include the first call of every actor.
    floor: async () => ((calls + actors) / (await replay(world, groups))) * 1_000,
  });
  const perGroup = Math.round(commits / groups.length);
  const perCommit = Math.round((calls + actors) / commits);
  const note =
    "One thread on both sides, and one that copies SQLite's log; every transaction synced to disk. " +
    `${perGroup} fenced commits share a transaction, ${perCommit === 1 ? "one call" : `${perCommit} calls`} each.`;
  const name = `durable calls over ${actors} actors, ${callers} at once`;
  return figure(name, "calls/s", compare(rounds), { atLeast: 0.9 }, note);
}

/** The same durable calls of the actor systems of two checkouts, each in a new process. */
export async function contestOfCalls(present: World, other: World, callers: number): Promise<Contest> {
  const calls = 10_000;
  const groups = await present.callIn(program, "record", loadOf(present, callers, calls));
  const side = (world: World) => async () =>
    costOf(await world.callIn(program, "run", loadOf(world, callers, calls)), calls);
  return {
    // Each turn is a new process.
    warmingTurns: 1,
    name: `actors: durable calls over ${actors} actors, ${callers} at once, ${count(calls)} in each turn`,
    present: side(present),
    other: side(other),
    floor: async () => ({ micros: ((await replay(present, groups)) * 1_000) / calls }),
  };
}

async function messages(world: World): Promise<Measured> {
  world.say("actors: in-memory messages");
  const total = world.size(2_000_000, 100_000);
  const side = (name: "messages" | "transitions") => async () =>
    (total / (await world.callIn(program, name, actors, total))) * 1_000;
  const sides = { ours: side("messages"), floor: side("transitions") };
  const rates = compare(await takeRounds(world.size(5, 1), sides));
  const note =
    "One thread on both sides. The floor is the same machine's transition function with one scope for all calls.";
  return figure(`in-memory messages over ${actors} actors`, "messages/s", rates, { atLeast: 0.8 }, note);
}

async function passive(world: World): Promise<Measured> {
  const total = world.size(1_000_000, 20_000);
  world.say(`actors: ${total} known actors`);
  const warmUp = world.size(150_000, 20_000);
  const measured = await world.callIn(program, "passive", world.path("passive.db"), warmUp, total);
  const [megabytes, heap] = [measured.addedBytes / 1_000_000, measured.addedHeapBytes / 1_000_000];
  const note =
    `Resident memory after they were created through the system and had left it, less that before; ${count(warmUp)} others had come and gone then. ` +
    `Heap in use: ${heap.toFixed(1)} MB more. Creating them took ${(measured.elapsedMs / 1_000).toFixed(0)} s.`;
  return figure(`memory of ${count(total)} known, passivated actors`, "MB", megabytes, { atMost: 50 }, note);
}
