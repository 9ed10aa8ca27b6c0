// Durable calls through the actor system on Cassandra, against bare conditional batches.

import type { DurableResult } from "../actors/drive.ts";
import type { EngineLoad, RecordedCommits } from "../actors/engine-durable.ts";
import type { EngineReplay } from "../floor/engine-commits.ts";
import type { Figure } from "../report.ts";
import { compare, takeRounds } from "../rounds.ts";
import type { World } from "../world.ts";
import type { ClusterNode, ClusterSetting } from "./setting.ts";

const actors = 500;
const callers = 64;

export async function measureCommits(
  world: World,
  setting: ClusterSetting,
  [node]: readonly ClusterNode[],
): Promise<readonly Figure[]> {
  if (node === undefined) throw new Error("there is no node");
  world.say("cluster: durable calls");
  const place = setting.placeOf(node.region);
  const load: EngineLoad = { place, actors, callers, calls: world.size(10_000, 1_000) };
  const recorded = await recordCommits(world, load);
  const rounds = await takeRounds(world.size(5, 1), {
    ours: async () => {
      await using child = world.start("actors/engine-durable.ts");
      const { commits, elapsedMs } = await child.call<DurableResult>("run", load);
      return (commits / elapsedMs) * 1_000;
    },
    floor: async () => {
      await using child = world.start("floor/engine-commits.ts");
      const replay: EngineReplay = { place, callers, ...recorded };
      return (recorded.commits.length / (await child.call<number>("replay", replay))) * 1_000;
    },
  });
  return [
    {
      ...{
        section: "cluster",
        name: `durable calls over ${actors} actors, ${callers} at once`,
        unit: "commits/s",
      },
      ...compare(rounds),
      goal: { atLeast: 0.8 },
      note: "The floor sends the rows of the same commits as conditional batches, made beforehand, in the same order and as many at once.",
    },
  ];
}

async function recordCommits(world: World, load: EngineLoad): Promise<RecordedCommits> {
  await using child = world.start("actors/engine-durable.ts");
  return await child.call<RecordedCommits>("record", load);
}
