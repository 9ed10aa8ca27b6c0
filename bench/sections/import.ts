// A bulk file from the first byte of its upload until its last record is found, against the work that no implementation could
// skip; and the memory that it takes.

import { type BulkFile, prepareImport, sendUpload, writeBulkFile } from "../bulk-file.ts";
import type { Child } from "../child.ts";
import { type CpuTimes, cpuBetween } from "../cpu-times.ts";
import type { FloorImport, FloorPushResult } from "../floor/push.ts";
import { sendOne } from "../load.ts";
import { recordSearch } from "../record-search.ts";
import type { Figure } from "../report.ts";
import { targetOf } from "../requests.ts";
import { compare, median, takeRounds } from "../rounds.ts";
import { memorySampleMs, watchMemory } from "../watch-memory.ts";
import { merchantOf, type OpenNode, publish, publisherOf, type World } from "../world.ts";

const warmUpRecords = 500;
const mebibyte = 1_048_576;

interface Files {
  readonly measured: BulkFile;
  readonly warmUp: BulkFile;
}

interface Imported {
  readonly pushId: string;
  /** The request that uploaded the file. */
  readonly upload: Uint8Array;
  readonly elapsedMs: number;
  /** Of which until the upload was answered. */
  readonly uploadMs: number;
  readonly cpu: CpuTimes;
  /** Peak resident memory meanwhile, minus that before; null where it cannot be read. */
  readonly grownBytes: number | null;
}

/** What a round of ours stored, for the floor to store again. */
interface Stored {
  readonly home: string;
  readonly measured: Imported;
  readonly warmUp: Imported;
}

export async function measureImport(world: World): Promise<readonly Figure[]> {
  const records = world.bulkRecords;
  world.say(`writing a file of ${records} records`);
  const files: Files = {
    warmUp: await writeBulkFile(world.path("warm-up.txt"), { first: 0, count: warmUpRecords }),
    measured: await writeBulkFile(world.path("file.txt"), { first: warmUpRecords, count: records }),
  };
  let stored: Stored | null = null;
  const rounds = await takeRounds(world.size(3, 1), {
    ours: async (round) => {
      world.say(`import, round ${round + 1}`);
      const ours = await importIntoService(world, files);
      stored ??= ours;
      return ours.measured;
    },
    floor: async () => {
      if (stored === null) throw new Error("the first round begins with ours");
      return await importIntoFloor(world, files, stored);
    },
  });
  const grown = rounds.flatMap(({ ours }) => (ours.grownBytes === null ? [] : [ours.grownBytes / mebibyte]));
  return [timeFigure(records, rounds), ...(grown.length === 0 ? [] : [memoryFigure(grown)])];
}

function timeFigure(
  records: number,
  rounds: readonly { readonly ours: Imported; readonly floor: FloorPushResult }[],
): Figure {
  const cpuOf = (side: "ours" | "floor", which: keyof CpuTimes): string =>
    median(rounds.map((round) => round[side].cpu[which])).toFixed(0);
  return {
    section: "import",
    name: `a file of ${records.toLocaleString("en")} records until complete and searchable`,
    unit: "ms",
    ...compare(rounds.map(({ ours, floor }) => ({ ours: ours.elapsedMs, floor: floor.elapsedMs }))),
    goal: { atMost: 1.5 },
    note:
      `Until the upload was answered ${median(rounds.map(({ ours }) => ours.uploadMs)).toFixed(0)} ms of it. ` +
      `Processor time of the main thread ${cpuOf("ours", "mainMs")} ms against ${cpuOf("floor", "mainMs")}, of all threads ${cpuOf("ours", "allMs")} ms against ${cpuOf("floor", "allMs")}. ` +
      `From the first byte of the upload to a search that finds the last record; the floor takes the same upload and then reads the file from the disk. Both sides in a new process each round, warmed up with a file of ${warmUpRecords} records. Threads as in a push.`,
  };
}

function memoryFigure(grown: readonly number[]): Figure {
  return {
    section: "import",
    name: "growth of resident memory meanwhile",
    unit: "MiB",
    ours: median(grown),
    floor: null,
    ratio: null,
    goal: { atMost: 256 },
    note: `Highest reading (every ${memorySampleMs} ms) less the one just before; worst round ${Math.max(...grown).toFixed(0)} MiB.`,
  };
}

async function importIntoService(world: World, files: Files): Promise<Stored> {
  const home = await world.seededHome();
  await using node = await world.openNode(home);
  const warmUp = await timeImport(node, files.warmUp);
  return { home, warmUp, measured: await timeImport(node, files.measured) };
}

async function timeImport(node: OpenNode, file: BulkFile): Promise<Imported> {
  const { child, sandbox } = node;
  const prepared = await prepareImport(sandbox.business_url, publisherOf(sandbox), file);
  const { records, batch } = prepared;
  const search = await recordSearch(sandbox, file.lastRecord);
  const before = await child.call<number>("indexedProducts", null);
  const memory = watchMemory(child);
  const cpuBefore = await child.call<CpuTimes>("cpuTimes", null);
  const startedMs = performance.now();
  await sendUpload(prepared);
  const uploadMs = performance.now() - startedMs;
  const businessUuid = merchantOf(sandbox).uuid;
  await publish(node, prepared.request, { businessUuid, pushId: batch.push_id, records });
  const found = await sendOne(targetOf(sandbox.base_url), search);
  const elapsedMs = performance.now() - startedMs;
  const cpu = cpuBetween(cpuBefore, await child.call<CpuTimes>("cpuTimes", null));
  const grownBytes = await memory.stop();
  const indexed = (await child.call<number>("indexedProducts", null)) - before;
  if (indexed !== records || !found.body.includes(`"rows":[{`))
    throw new Error(`${indexed} of ${records} records can be found: ${found.body.slice(0, 300)}`);
  return { pushId: batch.push_id, upload: prepared.upload, elapsedMs, uploadMs, cpu, grownBytes };
}

async function importIntoFloor(
  world: World,
  files: Files,
  { home, warmUp, measured }: Stored,
): Promise<FloorPushResult> {
  await using child = world.start("floor/push.ts");
  const file = world.path("floor.db");
  const run = async ({ path }: BulkFile, imported: Imported): Promise<FloorPushResult> => {
    const cpuBefore = await child.call<CpuTimes>("cpuTimes", null);
    const uploadMs = await uploadToFloor(child, world.path("floor.upload"), imported.upload);
    const uploadCpu = cpuBetween(cpuBefore, await child.call<CpuTimes>("cpuTimes", null));
    const params: FloorImport = { file, path, pushId: imported.pushId, home };
    const { elapsedMs, cpu } = await child.call<FloorPushResult>("runFile", params);
    return {
      elapsedMs: uploadMs + elapsedMs,
      cpu: { mainMs: uploadCpu.mainMs + cpu.mainMs, allMs: uploadCpu.allMs + cpu.allMs },
    };
  };
  await run(files.warmUp, warmUp);
  return await run(files.measured, measured);
}

/** Returns the milliseconds until the upload was answered. */
async function uploadToFloor(child: Child, path: string, upload: Uint8Array): Promise<number> {
  const port = await child.call<number>("receiveUpload", path);
  const startedMs = performance.now();
  const { status } = await sendOne(targetOf(`http://127.0.0.1:${port}`), upload);
  if (status !== 201) throw new Error(`the floor answered the upload ${status}`);
  return performance.now() - startedMs;
}
