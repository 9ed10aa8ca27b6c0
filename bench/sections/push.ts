// Pushes of the largest batch and imports of bulk files, until they are complete and searchable, against the work that no
// implementation could skip; and the memory that they take.

import type { Contest } from "../against.ts";
import { type Child, memorySampleMs, watchMemory } from "../child.ts";
import {
  compareBy,
  count,
  type Figure,
  figuresOf,
  median,
  type Rounds,
  sidesText,
  takeRounds,
} from "../figures.ts";
import type { FloorPush } from "../floor/push.ts";
import { readStoredRecords } from "../floor/stored-records.ts";
import { refused, sendOne } from "../load.ts";
import { merchantOf } from "../parties.ts";
import {
  type BulkFile,
  batchRecords,
  type PreparedPush,
  type ProductRange,
  prepareImport,
  preparePush,
  publish,
  recordSearch,
  sendUpload,
  writeBulkFile,
} from "../publishing.ts";
import { costOf, msOf, type Spent, sumOf } from "../work.ts";
import type { OpenNode, World } from "../world.ts";

const warmUpRecords = 500;
const [megabyte, mebibyte] = [1_000_000, 1_048_576];

interface Measured extends Spent {
  /** Peak resident memory meanwhile, minus that before; null where it cannot be read, and for a floor. */
  readonly grownBytes: number | null;
}

/** Times what publishes `records`, from the first byte of its request to a search that finds the last of them. */
async function timePublishing(
  { child, sandbox, target }: OpenNode,
  { records, lastRecord }: Pick<PreparedPush, "records" | "lastRecord">,
  work: () => Promise<void>,
): Promise<Measured> {
  const before = await child.call("serve.ts", "indexedProducts");
  const search = await recordSearch(sandbox, lastRecord);
  const memory = watchMemory(child);
  const { result, elapsedMs, cpu } = await child.spend(async () => {
    await work();
    return await sendOne(target, search);
  });
  const grownBytes = await memory.stop();
  const indexed = (await child.call("serve.ts", "indexedProducts")) - before;
  if (indexed !== records || !result.body.includes(`"rows":[{`))
    throw new Error(`${indexed} of ${records} records can be found: ${result.body.slice(0, 300)}`);
  return { elapsedMs, cpu, grownBytes };
}

function cpuNote(rounds: Rounds<Spent>): string {
  return (
    `Processor time of the main thread ${sidesText(rounds, ({ cpu }) => cpu.mainMs)} ms, ` +
    `of all threads ${sidesText(rounds, ({ cpu }) => cpu.allMs)} ms.`
  );
}

function memoryFigure(
  section: string,
  rounds: Rounds<Measured>,
  [unit, bytes, atMost]: readonly [string, number, number],
): readonly Figure[] {
  const grown = rounds.flatMap(({ ours }) => (ours.grownBytes === null ? [] : [ours.grownBytes / bytes]));
  if (grown.length === 0) return [];
  const note = `Highest reading (every ${memorySampleMs} ms) less the one just before; worst round ${Math.max(...grown).toFixed(0)} ${unit}.`;
  return [figuresOf(section)("growth of resident memory meanwhile", unit, median(grown), { atMost }, note)];
}

/** Target of a round's push: a home, and the number of the first product that is not in it. */
interface Place {
  readonly home: string;
  readonly first: number;
}

export function measurePush(world: World): Promise<readonly Figure[]> {
  return measurePushOf(world, world.size(5, 1), async () => ({ home: await world.seededHome(), first: 0 }));
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
  rounds: number,
  placeOf: (round: number) => Promise<Place>,
): Promise<readonly Figure[]> {
  const records = recordsOf(world);
  const floor = new PushFloor(world);
  const measured = await takeRounds(rounds, {
    ours: async (round) => {
      world.say(`push, round ${round + 1}`);
      const place = await placeOf(round);
      const { pushes, ...ours } = await pushToService(world, place, records);
      floor.capture(place.home, pushes);
      return ours;
    },
    floor: () => floor.push(),
  });
  const note =
    `${cpuNote(measured)} ` +
    `From the first byte of the request to a search that finds the last record; both sides in a new process each round, warmed up with ${warmUpRecords} records, ours with a search for the last of them too. ` +
    "On both sides a main thread, one that signs, one that writes the rows' file, and one that copies the log of the other; chunks are signed while others are written.";
  const times = compareBy<Measured>(measured, ({ elapsedMs }) => elapsedMs);
  const name = `${count(records)} records until complete and searchable`;
  return [
    figuresOf("push")(name, "ms", times, { atMost: 1.5 }, note),
    ...memoryFigure("push", measured, ["MB", megabyte, 200]),
  ];
}

/** Pushes in a new process that has handled one small push before. */
async function pushToService(
  world: World,
  { home, first }: Place,
  records: number,
): Promise<Measured & { readonly pushes: readonly PreparedPush[] }> {
  await using node = await world.openNode(home);
  const publisher = merchantOf(node.sandbox);
  const prepare = (range: ProductRange) => preparePush(node.businessUrl, publisher, range);
  const warmUp = await prepare({ first, count: warmUpRecords });
  const measured = await prepare({ first: first + warmUpRecords, count: records });
  await publish(node, warmUp);
  await sendOne(node.target, await recordSearch(node.sandbox, warmUp.lastRecord));
  const times = await timePublishing(node, measured, () => publish(node, measured));
  return { ...times, pushes: [warmUp, measured] };
}

/** Repeats what the first pushes stored. */
class PushFloor {
  readonly #world: World;
  #captured: readonly Omit<FloorPush, "file">[] | null = null;

  constructor(world: World) {
    this.#world = world;
  }

  /** The node of the home has ended. */
  capture(home: string, pushes: readonly PreparedPush[]): void {
    this.#captured ??= pushes.map(({ body, pushId }) => ({
      ...{ pushId, body, stored: readStoredRecords(home, pushId) },
    }));
  }

  async push(): Promise<Measured> {
    const [warmUp, measured] = this.#captured ?? [];
    if (warmUp === undefined || measured === undefined) throw new Error("the first round begins with ours");
    await using child = this.#world.startFloor();
    const file = this.#world.path("floor.db");
    await child.call("floor/push.ts", "run", { file, ...warmUp });
    return { ...(await child.call("floor/push.ts", "run", { file, ...measured })), grownBytes: null };
  }
}

/** The same pushes into nodes of two checkouts, each into a new home. */
export async function contestOfPushes(present: World, other: World): Promise<Contest> {
  const records = 2_000;
  const floor = new PushFloor(present);
  const side = (world: World) => async () => {
    const home = await world.seededHome();
    const { pushes, ...measured } = await pushToService(world, { home, first: 0 }, records);
    if (world === present) floor.capture(home, pushes);
    return costOf(measured, records);
  };
  return {
    // Each turn is a new process.
    warmingTurns: 1,
    name: `push: a record of a push of ${count(records)} until complete and searchable`,
    ...{ present: side(present), other: side(other) },
    floor: async () => costOf(await floor.push(), records),
    [Symbol.asyncDispose]: async () => {},
  };
}

interface Imported extends Measured {
  readonly pushId: string;
  /** The request that uploaded the file. */
  readonly upload: Uint8Array;
  /** Part of the time: until the upload was answered. */
  readonly uploadMs: number;
}

/** What a round of ours stored, for the floor to store again. */
interface StoredImports {
  readonly home: string;
  readonly imports: readonly Imported[];
}

export async function measureImport(world: World): Promise<readonly Figure[]> {
  const records = world.bulkRecords;
  world.say(`writing a file of ${records} records`);
  const files = [
    await writeBulkFile(world.path("warm-up.txt"), { first: 0, count: warmUpRecords }),
    await writeBulkFile(world.path("file.txt"), { first: warmUpRecords, count: records }),
  ];
  let stored: StoredImports | null = null;
  const rounds = await takeRounds(world.size(3, 1), {
    ours: async (round) => {
      world.say(`import, round ${round + 1}`);
      const { measured, ...ours } = await importIntoService(world, files);
      stored ??= ours;
      return measured;
    },
    floor: async () => {
      if (stored === null) throw new Error("the first round begins with ours");
      return await importIntoFloor(world, files, stored);
    },
  });
  const uploadMs = median(rounds.map(({ ours }) => ours.uploadMs));
  const note =
    `Until the upload was answered ${uploadMs.toFixed(0)} ms of it. ${cpuNote(rounds)} ` +
    `From the first byte of the upload to a search that finds the last record; the floor takes the same upload and then reads the file from the disk. Both sides in a new process each round, warmed up with a file of ${warmUpRecords} records. Threads as in a push.`;
  const times = compareBy<Measured>(rounds, ({ elapsedMs }) => elapsedMs);
  const name = `a file of ${count(records)} records until complete and searchable`;
  return [
    figuresOf("import")(name, "ms", times, { atMost: 1.5 }, note),
    ...memoryFigure("import", rounds, ["MiB", mebibyte, 256]),
  ];
}

async function importIntoService(
  world: World,
  files: readonly BulkFile[],
): Promise<StoredImports & { readonly measured: Imported }> {
  const home = await world.seededHome();
  await using node = await world.openNode(home);
  const imports: Imported[] = [];
  for (const file of files) imports.push(await timeImport(node, file));
  const measured = imports.at(-1);
  if (measured === undefined) throw new Error("nothing was imported");
  return { home, imports, measured };
}

async function timeImport(node: OpenNode, file: BulkFile): Promise<Imported> {
  const prepared = await prepareImport(node.businessUrl, merchantOf(node.sandbox), file);
  const { pushId, upload, records } = prepared;
  let uploadMs = 0;
  const measured = await timePublishing(node, { records, lastRecord: file.lastRecord }, async () => {
    uploadMs = await msOf(() => sendUpload(prepared));
    await publish(node, prepared);
  });
  return { ...measured, pushId, upload, uploadMs };
}

async function importIntoFloor(
  world: World,
  files: readonly BulkFile[],
  { home, imports }: StoredImports,
): Promise<Measured> {
  await using child = world.startFloor();
  const file = world.path("floor.db");
  let last: Spent | null = null;
  for (const [at, { pushId, upload }] of imports.entries()) {
    const path = files[at]?.path ?? "";
    const uploaded = await uploadToFloor(child, world.path("floor.upload"), upload);
    last = sumOf([uploaded, await child.call("floor/push.ts", "runFile", { file, path, pushId, home })]);
  }
  if (last === null) throw new Error("nothing was imported");
  return { ...last, grownBytes: null };
}

/** What it takes until the upload is answered. */
async function uploadToFloor(child: Child, path: string, upload: Uint8Array): Promise<Spent> {
  const port = await child.call("floor/push.ts", "receiveUpload", path);
  return await child.spend(async () => {
    const answer = await sendOne({ host: "127.0.0.1", port }, upload);
    if (answer.status !== 201) throw refused("the floor's upload", answer);
  });
}
