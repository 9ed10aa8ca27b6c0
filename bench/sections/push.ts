// Pushes of the largest batch and imports of bulk files, until they are complete and searchable, against the work that no
// implementation could skip; and the memory that they take.

import type { OpenContest } from "../against.ts";
import { type Child, memorySampleMs, watchMemory } from "../child.ts";
import {
  compareBy,
  count,
  figure,
  type Measured,
  median,
  type Rounds,
  sidesText,
  takeRounds,
} from "../figures.ts";
import { sendOne } from "../load.ts";
import { merchantOf } from "../parties.ts";
import {
  batchRecords,
  type PreparedImport,
  type PreparedPush,
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

type Prepared = PreparedPush | PreparedImport;

/** Prepares what a node publishes in a round; all but the last of it warms up. */
type Prepare = (node: OpenNode) => Promise<readonly Prepared[]>;

interface Published extends Spent {
  readonly uploadMs: number;
  /** Peak resident memory meanwhile, minus that before; null where it cannot be read. */
  readonly grownBytes: number | null;
}

/** Publishes in new processes: ours, and a floor in the given world that does again what the first round of ours there did. */
function publishingIn(world: World) {
  let first: { readonly home: string; readonly all: readonly Prepared[] } | null = null;
  const ours = async (place: World, home: string, prepare: Prepare): Promise<Published> => {
    await using node = await place.openNode(home);
    const all = await prepare(node);
    const published = await Array.fromAsync(all, (prepared) => timePublishing(node, prepared));
    if (place === world) first ??= { home, all };
    return published.at(-1) as Published;
  };
  const floor = async (): Promise<Spent> => {
    if (first === null) throw new Error("the first round begins with ours");
    const { home, all } = first;
    await using child = world.startFloor();
    const file = world.path("floor.db");
    const spent = await Array.fromAsync(all, async (prepared) => {
      const { pushId } = prepared;
      const from = "body" in prepared ? prepared.body : prepared.path;
      const upload = "upload" in prepared ? [await uploadToFloor(child, world, prepared)] : [];
      return sumOf([
        ...upload,
        await child.call("floor/push.ts", "run", { file, pushId, stored: home, from }),
      ]);
    });
    return spent.at(-1) as Spent;
  };
  return { ours, floor };
}

/** Times what publishes, from the first byte of its request to a search that finds the last of the records. */
async function timePublishing(node: OpenNode, prepared: Prepared): Promise<Published> {
  const { child, sandbox, target } = node;
  const { records, lastRecord } = prepared;
  const before = await child.call("serve.ts", "indexedProducts");
  const search = await recordSearch(sandbox, lastRecord);
  const memory = watchMemory(child);
  let uploadMs = 0;
  const { result, elapsedMs, cpu } = await child.spend(async () => {
    if ("upload" in prepared) uploadMs = await msOf(() => sendUpload(prepared));
    await publish(node, prepared);
    return await sendOne(target, search);
  });
  const grownBytes = await memory.stop();
  const indexed = (await child.call("serve.ts", "indexedProducts")) - before;
  if (indexed !== records || !result.body.includes(`"rows":[{`))
    throw new Error(`${indexed} of ${records} records can be found: ${result.body.slice(0, 300)}`);
  return { elapsedMs, cpu, uploadMs, grownBytes };
}

async function uploadToFloor(child: Child, world: World, prepared: PreparedImport): Promise<Spent> {
  const port = await child.call("floor/push.ts", "receiveUpload", world.path("upload"));
  return await child.spend(() => sendUpload({ ...prepared, uploadUrl: `http://127.0.0.1:${port}` }));
}

interface Kind {
  readonly what: string;
  readonly note: (rounds: Rounds<Published, Spent>, cpuNote: string) => string;
  /** Unit of memory, its bytes, and how many of them there may be. */
  readonly memory: readonly [string, number, number];
}

async function measurePublishing(
  world: World,
  { what, note, memory: [unit, bytes, atMost] }: Kind,
  count: number,
  placeOf: (round: number) => Promise<{ readonly home: string; readonly prepare: Prepare }>,
): Promise<readonly Measured[]> {
  const { ours, floor } = publishingIn(world);
  const rounds = await takeRounds(count, {
    ours: async (round) => {
      world.say(`publishing, round ${round + 1}`);
      const { home, prepare } = await placeOf(round);
      return await ours(world, home, prepare);
    },
    floor,
  });
  const times = compareBy<Spent>(rounds, ({ elapsedMs }) => elapsedMs);
  const cpuNote =
    `Processor time of the main thread ${sidesText<Spent>(rounds, ({ cpu }) => cpu.mainMs)} ms, ` +
    `of all threads ${sidesText<Spent>(rounds, ({ cpu }) => cpu.allMs)} ms.`;
  const name = `${what} until complete and searchable`;
  const figures = [figure(name, "ms", times, { atMost: 1.4 }, note(rounds, cpuNote))];
  const grown = rounds.flatMap(({ ours }) => (ours.grownBytes === null ? [] : [ours.grownBytes / bytes]));
  if (grown.length === 0) return figures;
  const ofMemory = `Highest reading (every ${memorySampleMs} ms) less the one just before; worst round ${Math.max(...grown).toFixed(0)} ${unit}.`;
  const growth = "growth of resident memory meanwhile";
  return [...figures, figure(growth, unit, median(grown), { atMost }, ofMemory)];
}

/** Two batches of the merchant's, of which the first is small. */
function batches(first: number, records: number): Prepare {
  const ranges = [
    { first, count: warmUpRecords },
    { first: first + warmUpRecords, count: records },
  ];
  return ({ businessUrl, sandbox }) =>
    Array.fromAsync(ranges, (range) => preparePush(businessUrl, merchantOf(sandbox), range));
}

export function measurePush(world: World): Promise<readonly Measured[]> {
  return measurePushInto(world, world.size(5, 1), () => world.seededHome(), 0);
}

/** Measures pushes into homes that already hold this many products; the pushed ones stay there. */
export async function measurePushInto(
  world: World,
  rounds: number,
  homeOf: () => Promise<string>,
  products: number,
): Promise<readonly Measured[]> {
  const records = world.size(batchRecords, 1_000);
  const kind: Kind = {
    what: `${count(records)} records`,
    note: (_rounds, cpuNote) =>
      `${cpuNote} ` +
      `From the first byte of the request to a search that finds the last record; both sides in a new process each round, warmed up with ${warmUpRecords} records, ours with a search for the last of them too. ` +
      "On both sides a main thread, one that signs, one that writes the rows' file, and one that copies the log of the other; chunks are signed while others are written.",
    memory: ["MB", 1_000_000, 200],
  };
  return await measurePublishing(world, kind, rounds, async (round) => {
    const first = products + round * (warmUpRecords + records);
    return { home: await homeOf(), prepare: batches(first, records) };
  });
}

export async function measureImport(world: World): Promise<readonly Measured[]> {
  const records = world.bulkRecords;
  world.say(`writing a file of ${records} records`);
  const files = [
    await writeBulkFile(world.path("warm-up.txt"), { first: 0, count: warmUpRecords }),
    await writeBulkFile(world.path("file.txt"), { first: warmUpRecords, count: records }),
  ];
  const prepare: Prepare = ({ businessUrl, sandbox }) =>
    Array.fromAsync(files, (file) => prepareImport(businessUrl, merchantOf(sandbox), file));
  const kind: Kind = {
    what: `a file of ${count(records)} records`,
    note: (rounds, cpuNote) =>
      `Until the upload was answered ${median(rounds.map(({ ours }) => ours.uploadMs)).toFixed(0)} ms of it. ${cpuNote} ` +
      `From the first byte of the upload to a search that finds the last record; the floor takes the same upload and then reads the file from the disk. Both sides in a new process each round, warmed up with a file of ${warmUpRecords} records. Threads as in a push.`,
    memory: ["MiB", 1_048_576, 256],
  };
  const placeOf = async () => ({ home: await world.seededHome(), prepare });
  return await measurePublishing(world, kind, world.size(3, 1), placeOf);
}

/** The same pushes into nodes of two checkouts, each into a new home. */
export const contestOfPushes: OpenContest = async ({ present, other }) => {
  const records = 2_000;
  const { ours, floor } = publishingIn(present);
  const prepare = batches(0, records);
  const side = (world: World) => async () =>
    costOf(await ours(world, await world.seededHome(), prepare), records);
  return {
    // Each turn is a new process.
    warmingTurns: 1,
    name: `push: a record of a push of ${count(records)} until complete and searchable`,
    present: side(present),
    other: side(other),
    floor: async () => costOf(await floor(), records),
  };
};
