// Regions of nodes on real engines, against the engines queried directly. Two regions with one node each, and for failover a
// second node in one of them.

import { measureAnswers } from "../cluster/answers.ts";
import { measureCommits } from "../cluster/commits.ts";
import { openEngines } from "../cluster/engines.ts";
import { measureFailover } from "../cluster/failover.ts";
import { measureImports } from "../cluster/imports.ts";
import { measurePushes } from "../cluster/pushes.ts";
import { ClusterSetting } from "../cluster/setting.ts";
import type { Figure } from "../report.ts";
import type { World } from "../world.ts";

export function measureCluster(world: World): Promise<readonly Figure[]> {
  return measureParts(world, [measurePushes, measureAnswers, measureCommits, measureFailover]);
}

export function measureClusterImport(world: World): Promise<readonly Figure[]> {
  return measureParts(world, [measureImports]);
}

type Part = typeof measurePushes;

async function measureParts(world: World, parts: readonly Part[]): Promise<readonly Figure[]> {
  await using engines = await openEngines((what) => world.say(what));
  if (engines === null) return [];
  await using setting = new ClusterSetting(world, engines);
  const [home, other] = engines.regions;
  if (home === undefined || other === undefined) throw new Error("the section needs two regions");
  const nodes = [await setting.start(home), await setting.start(other)];
  const figures: Figure[] = [];
  for (const measure of parts) {
    const measured = await measure(world, setting, nodes);
    // The section takes ten minutes, so each result is reported at once.
    for (const { name, ratio, ours } of measured)
      world.say(`cluster: ${name}: ${(ratio ?? ours).toFixed(2)}`);
    figures.push(...measured);
  }
  return figures;
}
