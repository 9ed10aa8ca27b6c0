// A bulk file until both regions find all of its records, against writing what ours stored to the engines again.

import { type BulkFile, prepareImport, sendUpload, writeBulkFile } from "../bulk-file.ts";
import type { Figure } from "../report.ts";
import { compare, median, takeRounds } from "../rounds.ts";
import { batchRecords, type World } from "../world.ts";
import { newPublisher } from "./callers.ts";
import type { Stored } from "./node.ts";
import { type Pushed, pushToFloor, requestPush, timePush, untilComplete } from "./pushes.ts";
import type { ClusterNode, ClusterSetting } from "./setting.ts";

const warmUpRecords = 500;

interface Common {
  readonly world: World;
  readonly setting: ClusterSetting;
  readonly node: ClusterNode;
  /** One node of each region. */
  readonly nodes: readonly ClusterNode[];
}

export async function measureImports(
  world: World,
  setting: ClusterSetting,
  nodes: readonly ClusterNode[],
): Promise<readonly Figure[]> {
  const [node] = nodes;
  if (node === undefined) throw new Error("there is no node");
  const common = { world, setting, node, nodes };
  // The floor writes a part of the file several times: all of it at once would not fit into memory.
  const sample = Math.min(world.bulkRecords, world.size(batchRecords, 1_000));
  const copies = Math.ceil(world.bulkRecords / sample);
  const records = copies * sample;
  const file = await writeBulkFile(world.path("file.txt"), { first: 0, count: records });
  const small = await writeBulkFile(world.path("warm-up.txt"), { first: 0, count: warmUpRecords });
  await importOnce(common, small);
  let stored: readonly Stored[] | null = null;
  const rounds = await takeRounds(world.size(2, 1), {
    ours: async (round) => {
      world.say(`cluster: import, round ${round + 1}`);
      const { measured, ids } = await importOnce(common, file);
      stored ??= await node.child.call<readonly Stored[]>("readStored", { ids: ids.slice(0, sample) });
      return measured;
    },
    floor: async (round) => {
      if (stored === null) throw new Error("the first round begins with ours");
      return await pushToFloor(common, stored, round, copies);
    },
  });
  const cpuOf = (side: "ours" | "floor"): string =>
    median(rounds.map((round) => round[side].cpu.mainMs)).toFixed(0);
  return [
    {
      section: "cluster-import",
      name: `a file of ${records.toLocaleString("en")} records until both regions find all`,
      unit: "ms",
      ...compare(rounds.map(({ ours, floor }) => ({ ours: ours.elapsedMs, floor: floor.elapsedMs }))),
      goal: { atMost: 2 },
      note:
        `From the first byte of the upload. The floor writes what ours stored of ${sample.toLocaleString("en")} of the records ${copies} times under other ids, as in a push of the section cluster; each time is prepared before the clock goes on. ` +
        `Processor time of the home node's main thread ${cpuOf("ours")} ms against ${cpuOf("floor")}.`,
    },
  ];
}

/** An import of a new business. */
async function importOnce(common: Common, file: BulkFile): Promise<Pushed> {
  const { child, urls } = common.node;
  const publisher = await newPublisher(common.setting.keysFolder, urls.business_url);
  const prepared = await prepareImport(urls.business_url, publisher, file);
  const { range } = file;
  return await timePush(common, { publisher, range }, async () => {
    await sendUpload(prepared);
    await requestPush(urls, prepared.request);
    await untilComplete(child, { publisher, pushId: prepared.batch.push_id, records: range.count });
  });
}
