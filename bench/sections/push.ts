// Pushes of the largest batch and imports of bulk files, until they are complete and searchable, against the work that no
// implementation could skip; and the memory that they take.

import type { OpenContest } from "../against.ts";
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
import { refused, sendOne } from "../load.ts";
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
const [megabyte, mebibyte] = [1_000_000, 1_048_576];

type Prepared = PreparedPush | PreparedImport;

/** Prepares what a node publishes in a round; all but the last of it warms up. */
type Prepare = (node: OpenNode) => Promise<readonly Prepared[]>;

interface Measured extends Spent {
  /** Part of the time: until the upload was answered. */
  readonly uploadMs: number;
  /** Peak resident memory meanwhile, minus that before; null where it cannot be read, and for a floor. */
  readonly grownBytes: number | null;
}

/** Publishes in new processes: ours, and a floor that does again what the first round of ours did. */
class Publishing {
  readonly #world: World;
  #first: { readonly home: string; readonly all: readonly Prepared[] } | null = null;

  /** The world of the floor. */
  constructor(world: World) {
    this.#world = world;
  }

  async ours(world: World, home: string, prepare: Prepare): Promise<Measured> {
    await using node = await world.openNode(home);
    const all = await prepare(node);
    const measured = await Array.fromAsync(all, (prepared) => timePublishing(node, prepared));
    if (world === this.#world) this.#first ??= { home, all };
    return measured.at(-1) as Measured;
  }

  async floor(): Promise<Measured> {
    if (this.#first === null) throw new Error("the first round begins with ours");
    const { home, all } = this.#first;
    await using child = this.#world.startFloor();
    const file = this.#world.path("floor.db");
    const measured = await Array.fromAsync(all, async (prepared) => {
      const upload =
        "upload" in prepared ? [await uploadToFloor(child, this.#world.path("upload"), prepared.upload)] : [];
      const { pushId } = prepared;
      const from = "body" in prepared ? prepared.body : prepared.path;
      return sumOf([
        ...upload,
        await child.call("floor/push.ts", "run", { file, pushId, stored: home, from }),
      ]);
    });
    return { ...(measured.at(-1) as Spent), uploadMs: 0, grownBytes: null };
  }
}

/** Times what publishes, from the first byte of its request to a search that finds the last of the records. */
async function timePublishing(node: OpenNode, prepared: Prepared): Promise<Measured> {
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

/** What it takes until an upload is answered. */
async function uploadToFloor(child: Child, path: string, upload: Uint8Array): Promise<Spent> {
  const port = await child.call("floor/push.ts", "receiveUpload", path);
  return await child.spend(async () => {
    const answer = await sendOne({ host: "127.0.0.1", port }, upload);
    if (answer.status !== 201) throw refused("the floor's upload", answer);
  });
}

interface Kind {
  readonly section: string;
  readonly name: string;
  readonly note: (rounds: Rounds<Measured>, cpuNote: string) => string;
  /** Unit of memory, its bytes, and how many of them there may be. */
  readonly memory: readonly [string, number, number];
}

async function measurePublishing(
  world: World,
  { section, name, note, memory: [unit, bytes, atMost] }: Kind,
  count: number,
  placeOf: (round: number) => Promise<{ readonly home: string; readonly prepare: Prepare }>,
): Promise<readonly Figure[]> {
  const publishing = new Publishing(world);
  const rounds = await takeRounds(count, {
    ours: async (round) => {
      world.say(`${section}, round ${round + 1}`);
      const { home, prepare } = await placeOf(round);
      return await publishing.ours(world, home, prepare);
    },
    floor: () => publishing.floor(),
  });
  const figure = figuresOf(section);
  const times = compareBy<Measured>(rounds, ({ elapsedMs }) => elapsedMs);
  const cpuNote =
    `Processor time of the main thread ${sidesText<Spent>(rounds, ({ cpu }) => cpu.mainMs)} ms, ` +
    `of all threads ${sidesText<Spent>(rounds, ({ cpu }) => cpu.allMs)} ms.`;
  const figures = [figure(name, "ms", times, { atMost: 1.5 }, note(rounds, cpuNote))];
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

export function measurePush(world: World): Promise<readonly Figure[]> {
  return measurePushOf(world, world.size(5, 1), () => world.seededHome(), 0);
}

/** Measures pushes into a home that already holds this many products; the pushed ones stay there. */
export function measurePushInto(
  world: World,
  rounds: number,
  { home, products }: { readonly home: string; readonly products: number },
): Promise<readonly Figure[]> {
  return measurePushOf(world, rounds, async () => home, products);
}

async function measurePushOf(
  world: World,
  rounds: number,
  homeOf: () => Promise<string>,
  products: number,
): Promise<readonly Figure[]> {
  const records = world.size(batchRecords, 1_000);
  const kind: Kind = {
    section: "push",
    name: `${count(records)} records until complete and searchable`,
    note: (_rounds, cpuNote) =>
      `${cpuNote} ` +
      `From the first byte of the request to a search that finds the last record; both sides in a new process each round, warmed up with ${warmUpRecords} records, ours with a search for the last of them too. ` +
      "On both sides a main thread, one that signs, one that writes the rows' file, and one that copies the log of the other; chunks are signed while others are written.",
    memory: ["MB", megabyte, 200],
  };
  return await measurePublishing(world, kind, rounds, async (round) => {
    const first = products + round * (warmUpRecords + records);
    return { home: await homeOf(), prepare: batches(first, records) };
  });
}

export async function measureImport(world: World): Promise<readonly Figure[]> {
  const records = world.bulkRecords;
  world.say(`writing a file of ${records} records`);
  const files = [
    await writeBulkFile(world.path("warm-up.txt"), { first: 0, count: warmUpRecords }),
    await writeBulkFile(world.path("file.txt"), { first: warmUpRecords, count: records }),
  ];
  const prepare: Prepare = ({ businessUrl, sandbox }) =>
    Array.fromAsync(files, (file) => prepareImport(businessUrl, merchantOf(sandbox), file));
  const kind: Kind = {
    section: "import",
    name: `a file of ${count(records)} records until complete and searchable`,
    note: (rounds, cpuNote) =>
      `Until the upload was answered ${median(rounds.map(({ ours }) => ours.uploadMs)).toFixed(0)} ms of it. ${cpuNote} ` +
      `From the first byte of the upload to a search that finds the last record; the floor takes the same upload and then reads the file from the disk. Both sides in a new process each round, warmed up with a file of ${warmUpRecords} records. Threads as in a push.`,
    memory: ["MiB", mebibyte, 256],
  };
  const placeOf = async () => ({ home: await world.seededHome(), prepare });
  return await measurePublishing(world, kind, world.size(3, 1), placeOf);
}

/** The same pushes into nodes of two checkouts, each into a new home. */
export const contestOfPushes: OpenContest = async ({ present, other }) => {
  const records = 2_000;
  const publishing = new Publishing(present);
  const prepare = batches(0, records);
  const side = (world: World) => async () =>
    costOf(await publishing.ours(world, await world.seededHome(), prepare), records);
  return {
    // Each turn is a new process.
    warmingTurns: 1,
    name: `push: a record of a push of ${count(records)} until complete and searchable`,
    ...{ present: side(present), other: side(other) },
    floor: async () => costOf(await publishing.floor(), records),
  };
};
