// A push of the largest batch, and a bulk file, until both regions find all of their records, against writing what ours stored to
// the engines again.

import { IndexNames, rowsAlias } from "../../storage/elasticsearch/layout.ts";
import { compareBy, count, figure, type Measured, sidesText, takeRounds } from "../figures.ts";
import { newPublisher, type Publisher } from "../parties.ts";
import {
  batchRecords,
  type PreparedImport,
  type PreparedPush,
  prepareImport,
  preparePush,
  publish,
  sendUpload,
  writeBulkFile,
} from "../publishing.ts";
import type { Stored } from "../serve.ts";
import type { Spent } from "../work.ts";
import { numbersTo, recordIds } from "../world.ts";
import type { Regions } from "./regions.ts";

const warmUpRecords = 500;

export async function measurePushes(regions: Regions): Promise<readonly Measured[]> {
  const { world, node } = regions;
  const records = world.size(batchRecords, 1_000);
  return await measureTurns(regions, {
    name: `push of ${count(records)} records until both regions find all`,
    rounds: world.size(3, 1),
    sample: records,
    copies: 1,
    prepareOf: async (count) => (publisher) => preparePush(node.businessUrl, publisher, { first: 0, count }),
    note: "The floor writes the versions, heads and catalogue rows that ours stored, and sends its rows to both regions' Elasticsearch, at the same time and with as many requests at once as ours; all of it was made beforehand.",
  });
}

export async function measureImports(regions: Regions): Promise<readonly Measured[]> {
  const { world, node } = regions;
  // The floor writes a part of the file several times: all of it at once would not fit into memory.
  const sample = Math.min(world.bulkRecords, world.size(batchRecords, 1_000));
  const copies = Math.ceil(world.bulkRecords / sample);
  return await measureTurns(regions, {
    name: `a file of ${count(copies * sample)} records until both regions find all`,
    rounds: world.size(2, 1),
    sample,
    copies,
    prepareOf: async (count) => {
      const file = await writeBulkFile(world.path("file.txt"), { first: 0, count });
      return (publisher) => prepareImport(node.businessUrl, publisher, file);
    },
    note: `From the first byte of the upload. The floor writes what ours stored of ${count(sample)} of the records ${copies} times under other ids, as in a push of the section cluster; each time is prepared before the clock goes on.`,
  });
}

type Prepare = (publisher: Publisher) => Promise<PreparedPush | PreparedImport>;

interface Turns {
  readonly name: string;
  readonly note: string;
  readonly rounds: number;
  /** How many of the records the floor writes, and how often. */
  readonly sample: number;
  readonly copies: number;
  /** Prepares what a business publishes, of so many records. */
  readonly prepareOf: (records: number) => Promise<Prepare>;
}

async function measureTurns(regions: Regions, of: Turns): Promise<readonly Measured[]> {
  const { world, node } = regions;
  await publishOnce(regions, await of.prepareOf(warmUpRecords));
  const prepare = await of.prepareOf(of.copies * of.sample);
  let stored: readonly Stored[] | null = null;
  const rounds = await takeRounds<Spent, Spent>(of.rounds, {
    ours: async (round) => {
      world.say(`cluster: publishing, round ${round + 1}`);
      const { publisher, ...measured } = await publishOnce(regions, prepare);
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
  const times = compareBy(rounds, ({ elapsedMs }) => elapsedMs);
  const note = `${of.note} Processor time of the home node's main thread ${sidesText(rounds, ({ cpu }) => cpu.mainMs)} ms.`;
  return [figure(of.name, "ms", times, { atMost: 2 }, note)];
}

/**
 * Publishes what a new business has, from the first byte of its request until it is complete, which every index has to confirm, and
 * sees that every region has all of it.
 */
async function publishOnce({ node, nodes, keysFolder }: Regions, prepare: Prepare) {
  const publisher = await newPublisher(keysFolder, node.businessUrl);
  const prepared = await prepare(publisher);
  const indexed = () => Promise.all(nodes.map(({ child }) => child.call("serve.ts", "indexedProducts")));
  const before = await indexed();
  const { elapsedMs, cpu } = await node.child.spend(async () => {
    if ("upload" in prepared) await sendUpload(prepared);
    await publish(node, prepared);
  });
  const found = (await indexed()).map((each, at) => each - (before[at] ?? 0));
  if (found.some((each) => each !== prepared.records))
    throw new Error(`Of ${prepared.records} records the regions find ${found.join(" and ")}.`);
  return { publisher, elapsedMs, cpu };
}

/** Writes what ours stored again, `copies` times under other ids. */
async function pushToFloor(
  { world, engines, place, indexPrefix }: Regions,
  stored: readonly Stored[],
  round: number,
  copies: number,
): Promise<Spent> {
  await using child = world.startFloor();
  const indexes = engines.regions.map((region, at) => ({
    elastic: engines.elastic[at] ?? "",
    alias: rowsAlias(new IndexNames(indexPrefix(region), "products").generation(1)),
  }));
  const push = (marks: readonly string[], some: readonly Stored[]): Promise<Spent> =>
    child.call("floor/engines.ts", "push", { place, indexes, stored: some, marks });
  const digits = "abcdefghijklmnopqrstuvwxyz";
  await push([`${digits[round]}aaa`], stored.slice(0, warmUpRecords));
  const marks = numbersTo(copies).map((copy) => `${digits[round]}bb${digits[copy]}`);
  return await push(marks, stored);
}
