// A push of the largest batch, until it is complete and searchable, against the work that no implementation could skip.

import { type CpuTimes, cpuBetween } from "../cpu-times.ts";
import type { FloorPush, FloorPushResult, StoredRecord } from "../floor/push.ts";
import { sendOne } from "../load.ts";
import type { PreparedPush } from "../prepared-push.ts";
import { recordSearch } from "../record-search.ts";
import type { Figure } from "../report.ts";
import { targetOf } from "../requests.ts";
import { compare, median, takeRounds } from "../rounds.ts";
import { readStoredRecords } from "../stored-records.ts";
import { memorySampleMs, watchMemory } from "../watch-memory.ts";
import { batchRecords, type OpenNode, preparePush, push, type World } from "../world.ts";

const warmUpRecords = 500;
const megabyte = 1_000_000;

/** The measured push, with what the service stored for it. */
interface Capture {
  readonly prepared: PreparedPush;
  readonly stored: readonly StoredRecord[];
  readonly warmUp: { readonly prepared: PreparedPush; readonly stored: readonly StoredRecord[] };
}

interface Measured {
  readonly elapsedMs: number;
  readonly cpu: CpuTimes;
  /** Peak resident memory during the push, minus that before; null where it cannot be read. */
  readonly grownBytes: number | null;
}

/** Target of a round's push: a home, and the number of the first product that is not in it. */
interface Place {
  readonly home: string;
  readonly first: number;
}

export function measurePush(world: World): Promise<readonly Figure[]> {
  const place = async (): Promise<Place> => ({ home: await world.seededHome(), first: 0 });
  return measurePushOf(world, world.size(5, 1), place);
}

/** Measures pushes into a home that already holds this many products; the pushed ones stay there. */
export function measurePushInto(
  world: World,
  rounds: number,
  { home, products }: { readonly home: string; readonly products: number },
): Promise<readonly Figure[]> {
  const each = warmUpRecords + recordsOf(world);
  return measurePushOf(world, rounds, async (round) => ({ home, first: products + round * each }));
}

function recordsOf(world: World): number {
  return world.size(batchRecords, 1_000);
}

async function measurePushOf(
  world: World,
  count: number,
  placeOf: (round: number) => Promise<Place>,
): Promise<readonly Figure[]> {
  const records = recordsOf(world);
  let captured: Capture | null = null;
  const rounds = await takeRounds(count, {
    ours: async (round) => {
      world.say(`push, round ${round + 1}`);
      const { measured, capture } = await pushToService(world, await placeOf(round), records);
      captured ??= capture();
      return measured;
    },
    floor: async () => {
      if (captured === null) throw new Error("the first round begins with ours");
      return { ...(await pushToFloor(world, captured)), grownBytes: null };
    },
  });
  const grown = rounds.flatMap(({ ours }) => (ours.grownBytes === null ? [] : [ours.grownBytes / megabyte]));
  const cpuOf = (side: "ours" | "floor", which: keyof CpuTimes): string =>
    median(rounds.map((round) => round[side].cpu[which])).toFixed(0);
  const time: Figure = {
    section: "push",
    name: `${records.toLocaleString("en")} records until complete and searchable`,
    unit: "ms",
    ...compare(rounds.map(({ ours, floor }) => ({ ours: ours.elapsedMs, floor: floor.elapsedMs }))),
    goal: { atMost: 1.5 },
    note:
      `Processor time of the main thread ${cpuOf("ours", "mainMs")} ms against ${cpuOf("floor", "mainMs")}, of all threads ${cpuOf("ours", "allMs")} ms against ${cpuOf("floor", "allMs")}. ` +
      `From the first byte of the request to a search that finds the last record; both sides in a new process each round, warmed up with ${warmUpRecords} records, ours with a search for the last of them too. ` +
      "On both sides a main thread, one that signs, one that writes the rows' file, and one that copies the log of the other; chunks are signed while others are written.",
  };
  if (grown.length === 0) return [time];
  const memory: Figure = {
    section: "push",
    name: "growth of resident memory meanwhile",
    unit: "MB",
    ours: median(grown),
    floor: null,
    ratio: null,
    goal: { atMost: 200 },
    note: `Highest reading (every ${memorySampleMs} ms) less the one just before; worst round ${Math.max(...grown).toFixed(0)} MB.`,
  };
  return [time, memory];
}

async function pushToService(
  world: World,
  { home, first }: Place,
  records: number,
): Promise<{ measured: Measured; capture: () => Capture }> {
  let measured: Measured;
  let warmUp: PreparedPush;
  let prepared: PreparedPush;
  {
    await using node = await world.openNode(home);
    warmUp = await preparePush(node.sandbox, { first, count: warmUpRecords });
    prepared = await preparePush(node.sandbox, { first: first + warmUpRecords, count: records });
    await push(node, warmUp);
    await sendOne(targetOf(node.sandbox.base_url), await lastSearch(node, warmUp));
    measured = await timePush(node, prepared);
  }
  const storedOf = (each: PreparedPush) => ({
    prepared: each,
    stored: readStoredRecords(home, each.batch.push_id),
  });
  return { measured, capture: () => ({ ...storedOf(prepared), warmUp: storedOf(warmUp) }) };
}

/** Times a push from the first byte of the request to a search that finds the last record. */
async function timePush(node: OpenNode, prepared: PreparedPush): Promise<Measured> {
  const records = prepared.records.length;
  const productsBefore = await node.child.call<number>("indexedProducts", null);
  const search = await lastSearch(node, prepared);
  const memory = watchMemory(node.child);
  const cpuBefore = await node.child.call<CpuTimes>("cpuTimes", null);
  const startedMs = performance.now();
  await push(node, prepared);
  const found = await sendOne(targetOf(node.sandbox.base_url), search);
  const elapsedMs = performance.now() - startedMs;
  const cpu = cpuBetween(cpuBefore, await node.child.call<CpuTimes>("cpuTimes", null));
  const measured = { elapsedMs, cpu, grownBytes: await memory.stop() };
  const indexed = (await node.child.call<number>("indexedProducts", null)) - productsBefore;
  if (indexed !== records || !found.body.includes(`"rows":[{`)) {
    throw new Error(`${indexed} of ${records} records can be found: ${found.body.slice(0, 300)}`);
  }
  return measured;
}

function lastSearch({ sandbox }: OpenNode, { records }: PreparedPush): Promise<Uint8Array> {
  return recordSearch(sandbox, records.at(-1) ?? new Uint8Array());
}

async function pushToFloor(world: World, { prepared, stored, warmUp }: Capture): Promise<FloorPushResult> {
  await using child = world.start("floor/push.ts");
  const file = world.path("floor.db");
  const run = (each: PreparedPush, of: readonly StoredRecord[]): Promise<FloorPushResult> => {
    const params: FloorPush = { file, pushId: each.batch.push_id, body: each.body, stored: of };
    return child.call<FloorPushResult>("run", params);
  };
  await run(warmUp.prepared, warmUp.stored);
  return await run(prepared, stored);
}
