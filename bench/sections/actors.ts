// The actor system against bare commits and bare transitions.

import type { ActorCommit } from "../../storage/actor-store.ts";
import type { DurableLoad, DurableResult } from "../actors/durable.ts";
import type { MessageLoad } from "../actors/messages.ts";
import type { PassiveLoad, PassiveResult } from "../actors/passive.ts";
import type { FencedCommits } from "../floor/fenced-commits.ts";
import type { Figure } from "../report.ts";
import { compare, takeRounds } from "../rounds.ts";
import type { World } from "../world.ts";

const actors = 500;

export async function measureActors(world: World): Promise<readonly Figure[]> {
  return [
    await durable(world, { callers: 64, calls: world.size(100_000, 5_000), isGoal: true }),
    await durable(world, { callers: actors, calls: world.size(100_000, 5_000), isGoal: true }),
    await durable(world, { callers: actors * 64, calls: world.size(500_000, 64_000), isGoal: false }),
    await messages(world),
    await passive(world),
  ];
}

interface DurableCase {
  readonly callers: number;
  readonly calls: number;
  readonly isGoal: boolean;
}

async function durable(world: World, { callers, calls, isGoal }: DurableCase): Promise<Figure> {
  world.say(`actors: durable calls, ${callers} at once`);
  const load = (): DurableLoad => ({ file: world.path("actors.db"), actors, callers, calls });
  const groups = await recordCommits(world, load());
  const commits = groups.reduce((sum, group) => sum + group.length, 0);
  const rounds = await takeRounds(world.size(5, 1), {
    ours: async () => {
      await using child = world.start("actors/durable.ts");
      const result = await child.call<DurableResult>("run", load());
      return (result.calls / result.elapsedMs) * 1_000;
    },
    floor: async () => {
      await using child = world.start("floor/fenced-commits.ts");
      const params: FencedCommits = { file: world.path("commits.db"), groups };
      // The recorded commits include the first call of every actor.
      return ((calls + actors) / (await child.call<number>("replay", params))) * 1_000;
    },
  });
  const perGroup = Math.round(commits / groups.length);
  const perCommit = Math.round((calls + actors) / commits);
  const grouping = `${perGroup} fenced commits share a transaction, ${perCommit === 1 ? "one call" : `${perCommit} calls`} each`;
  const threads =
    "One thread on both sides, and one that copies SQLite's log; every transaction synced to disk";
  const why = isGoal
    ? ""
    : " The floor decides nothing and runs no machine, which is most of a call that shares its commit.";
  return {
    section: "actors",
    name: `durable calls over ${actors} actors, ${callers.toLocaleString("en")} at once`,
    unit: "calls/s",
    ...compare(rounds),
    goal: isGoal ? { atLeast: 0.4 } : null,
    note: `${threads}. ${grouping}.${why}`,
  };
}

async function recordCommits(world: World, load: DurableLoad): Promise<readonly (readonly ActorCommit[])[]> {
  await using child = world.start("actors/durable.ts");
  return await child.call("record", load);
}

async function messages(world: World): Promise<Figure> {
  world.say("actors: in-memory messages");
  const load: MessageLoad = { actors, messages: world.size(2_000_000, 100_000) };
  const side = (path: string) => async (): Promise<number> => {
    await using child = world.start(path);
    return (load.messages / (await child.call<number>("run", load))) * 1_000;
  };
  const rounds = await takeRounds(world.size(5, 1), {
    ours: side("actors/messages.ts"),
    floor: side("floor/transitions.ts"),
  });
  return {
    section: "actors",
    name: `in-memory messages over ${actors} actors`,
    unit: "messages/s",
    ...compare(rounds),
    goal: { atLeast: 0.5 },
    note: "One thread on both sides. The floor is the same machine's transition function with one scope for all calls.",
  };
}

async function passive(world: World): Promise<Figure> {
  const count = world.size(1_000_000, 20_000);
  world.say(`actors: ${count} known actors`);
  await using child = world.start("actors/passive.ts", ["--expose-gc"]);
  const load: PassiveLoad = {
    file: world.path("passive.db"),
    warmUp: world.size(150_000, 20_000),
    actors: count,
  };
  const result = await child.call<PassiveResult>("run", load);
  const megabyte = 1_000_000;
  return {
    section: "actors",
    name: `memory of ${count.toLocaleString("en")} known, passivated actors`,
    unit: "MB",
    ours: result.addedBytes / megabyte,
    floor: null,
    ratio: null,
    goal: { atMost: 50 },
    note:
      `Resident memory after they were created through the system and had left it, less that before; ` +
      `${load.warmUp.toLocaleString("en")} others had come and gone then. Heap in use: ` +
      `${(result.addedHeapBytes / megabyte).toFixed(1)} MB more. Creating them took ${(result.elapsedMs / 1_000).toFixed(0)} s.`,
  };
}
