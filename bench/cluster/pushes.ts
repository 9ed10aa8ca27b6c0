// A push of the largest batch, and a bulk file, until both regions find all of their records, against writing what ours stored to
// the engines again.

import { IndexNames, rowsAlias } from "../../storage/elasticsearch/names.ts";
import { compareBy, count, type Figure, figuresOf, type Rounds, sidesText, takeRounds } from "../figures.ts";
import type { EnginePush } from "../floor/engines.ts";
import { newPublisher, type Publisher } from "../parties.ts";
import {
  type BulkFile,
  batchRecords,
  type ProductRange,
  prepareImport,
  preparePush,
  publish,
  sendUpload,
  writeBulkFile,
} from "../publishing.ts";
import type { Stored } from "../serve.ts";
import type { Spent } from "../work.ts";
import { numbersTo, recordIds } from "../world.ts";
import type { ClusterNode, Regions } from "./setting.ts";

const warmUpRecords = 500;

interface Published extends Spent {
  readonly publisher: Publisher;
}

export async function measurePushes(regions: Regions): Promise<readonly Figure[]> {
  const records = regions.world.size(batchRecords, 1_000);
  const rounds = await takeTurns(regions, {
    ...{ rounds: regions.world.size(3, 1), sample: records, copies: 1 },
    warmUp: () => pushOnce(regions, { first: 0, count: warmUpRecords }),
    publish: () => pushOnce(regions, { first: 0, count: records }),
  });
  return [
    figuresOf("cluster")(
      `push of ${count(records)} records until both regions find all`,
      "ms",
      compareBy(rounds, ({ elapsedMs }) => elapsedMs),
      { atMost: 2 },
      "The floor writes the versions, heads and catalogue rows that ours stored, and sends its rows to both regions' Elasticsearch, at the same time and with as many requests at once as ours; all of it was made beforehand. " +
        cpuNote(rounds),
    ),
  ];
}

export async function measureImports(regions: Regions): Promise<readonly Figure[]> {
  const { world } = regions;
  // The floor writes a part of the file several times: all of it at once would not fit into memory.
  const sample = Math.min(world.bulkRecords, world.size(batchRecords, 1_000));
  const copies = Math.ceil(world.bulkRecords / sample);
  const records = copies * sample;
  const file = await writeBulkFile(world.path("file.txt"), { first: 0, count: records });
  const small = await writeBulkFile(world.path("warm-up.txt"), { first: 0, count: warmUpRecords });
  const rounds = await takeTurns(regions, {
    ...{ rounds: world.size(2, 1), sample, copies },
    warmUp: () => importOnce(regions, small),
    publish: () => importOnce(regions, file),
  });
  return [
    figuresOf("cluster-import")(
      `a file of ${count(records)} records until both regions find all`,
      "ms",
      compareBy(rounds, ({ elapsedMs }) => elapsedMs),
      { atMost: 2 },
      `From the first byte of the upload. The floor writes what ours stored of ${count(sample)} of the records ${copies} times under other ids, as in a push of the section cluster; each time is prepared before the clock goes on. ` +
        cpuNote(rounds),
    ),
  ];
}

function cpuNote(rounds: Rounds<Spent>): string {
  return `Processor time of the home node's main thread ${sidesText(rounds, ({ cpu }) => cpu.mainMs)} ms.`;
}

interface Turns {
  readonly rounds: number;
  /** How many of the records the floor writes, and how often. */
  readonly sample: number;
  readonly copies: number;
  readonly warmUp: () => Promise<unknown>;
  readonly publish: () => Promise<Published>;
}

async function takeTurns(regions: Regions, of: Turns): Promise<Rounds<Spent>> {
  const { world, node } = regions;
  await of.warmUp();
  let stored: readonly Stored[] | null = null;
  return await takeRounds<Spent, Spent>(of.rounds, {
    ours: async (round) => {
      world.say(`cluster: publishing, round ${round + 1}`);
      const { publisher, ...measured } = await of.publish();
      if (stored === null) {
        const ids = await recordIds(node.child, publisher.uuid, numbersTo(of.sample));
        stored = await node.child.call("serve.ts", "readStored", ids);
      }
      return measured;
    },
    floor: async (round) => {
      if (stored === null) throw new Error("the first round begins with ours");
      return await pushToFloor(regions, stored, round, of.copies);
    },
  });
}

/** A push of a new business, from the first byte of the request until it is complete, which every index has to confirm. */
async function pushOnce(regions: Regions, range: ProductRange): Promise<Published> {
  const { node, setting } = regions;
  const publisher = await newPublisher(setting.keysFolder, node.businessUrl);
  const prepared = await preparePush(node.businessUrl, publisher, range);
  return await timed(regions, publisher, range.count, () => publish(node, prepared));
}

/** An import of a new business. */
async function importOnce(regions: Regions, file: BulkFile): Promise<Published> {
  const { node, setting } = regions;
  const publisher = await newPublisher(setting.keysFolder, node.businessUrl);
  const prepared = await prepareImport(node.businessUrl, publisher, file);
  return await timed(regions, publisher, file.range.count, async () => {
    await sendUpload(prepared);
    await publish(node, prepared);
  });
}

/** Times what publishes records, and sees that every region has them. */
async function timed(
  { node, nodes }: Regions,
  publisher: Publisher,
  records: number,
  work: () => Promise<void>,
): Promise<Published> {
  const indexed = ({ child }: ClusterNode): Promise<number> => child.call("serve.ts", "indexedProducts");
  const before = await Promise.all(nodes.map(indexed));
  const { elapsedMs, cpu } = await node.child.spend(work);
  const after = await Promise.all(nodes.map(indexed));
  const found = after.map((each, at) => each - (before[at] ?? 0));
  if (found.some((each) => each !== records))
    throw new Error(`Of ${records} records the regions find ${found.join(" and ")}.`);
  return { publisher, elapsedMs, cpu };
}

/** Writes what ours stored again, `copies` times under other ids. */
async function pushToFloor(
  { world, setting, node }: Regions,
  stored: readonly Stored[],
  round: number,
  copies: number,
): Promise<Spent> {
  await using child = world.startFloor();
  const { regions, elastic } = setting.engines;
  const indexes = regions.map((region, at) => ({
    elastic: elastic[at] ?? "",
    alias: rowsAlias(new IndexNames(setting.indexPrefix(region), "products").generation(1)),
  }));
  const params = (marks: readonly string[], some: readonly Stored[]): EnginePush => ({
    ...{ place: setting.placeOf(node.region), indexes, stored: some, marks },
  });
  const digits = "abcdefghijklmnopqrstuvwxyz";
  const digit = digits[round] ?? "";
  const marks = Array.from({ length: copies }, (_, copy) => `${digit}bb${digits[copy]}`);
  await child.call("floor/engines.ts", "push", params([`${digit}aaa`], stored.slice(0, warmUpRecords)));
  return await child.call("floor/engines.ts", "push", params(marks, stored));
}
