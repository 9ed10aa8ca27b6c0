// The transparency log: inclusion reads in trees of several sizes on the embedded store, against bare reads of the tiles that they need.
// What is exported beside the section runs in a child process.

import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { readTilesOf } from "../../actors/log-sequencer/activities.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { formatHash, parseHash } from "../../protocol/bytes.ts";
import { entryBytes, entryHash, formatBundle } from "../../protocol/log/leaves.ts";
import { formatCheckpoint } from "../../protocol/log/note.ts";
import {
  entriesPath,
  extendTree,
  inclusionProof,
  newTiles,
  type ReadTiles,
  tilePath,
  tileWidth,
  treeRoot,
  widthInTree,
} from "../../protocol/log/tiles.ts";
import { leafHash, rootFromPath } from "../../protocol/merkle.ts";
import { bodyText } from "../../service/answer.ts";
import { createLogReads } from "../../service/log/log-reads.ts";
import { SqliteDatabase } from "../../storage/sqlite/database.ts";
import { openSqliteLogStore } from "../../storage/sqlite/log-store.ts";
import { openSqliteReceiptStore } from "../../storage/sqlite/receipt-store.ts";
import { compare, compareBy, count, figure, type Goal, type Measured, takeRounds } from "../figures.ts";
import { benchEntry, origin } from "../log/sequencer.ts";
import { heldMemory, msOf } from "../work.ts";
import { numbersTo, type World } from "../world.ts";

const program = "sections/log-proof.ts";

/** A folder with a log, and the leaves that are asked for, one after another. */
interface ProofLoad {
  readonly folder: string;
  readonly indexes: readonly number[];
}

export async function measureLogProof(world: World): Promise<readonly Measured[]> {
  const [small, large] = [1_000, world.size(1_000_000, 64_000)];
  const first = await measureProofs(world, small, null);
  const second = await measureProofs(world, 32_000, null);
  const last = await measureProofs(world, large, { atMost: 3 });
  // A proof has log2(size) hashes.
  const longer = Math.log2(large) / Math.log2(small);
  return [
    first,
    second,
    last,
    figure(
      "growth of an inclusion read from the smallest tree to the largest",
      "times",
      last.ours / first.ours,
      { atMost: longer },
      `The largest has ${count(large / small)} times as many leaves, and proofs ${longer.toFixed(1)} times as long.`,
    ),
    ...(await measureMemory(world, small, large)),
  ];
}

/** Leaves spread over a whole tree of this size, in an order that has no locality. */
async function loadOf(world: World, size: number): Promise<ProofLoad> {
  const folder = await world.prepared(`log-${size}`, async (made) => {
    world.say(`preparing a log of ${size} leaves`);
    await world.callIn(program, "build", made, size);
  });
  const indexes = numbersTo(world.size(4_000, 200)).map((at) => (at * 7_919 * 31 + at) % size);
  return { folder, indexes };
}

async function measureProofs(world: World, size: number, goal: Goal | null): Promise<Measured> {
  world.say(`log-proof: ${size} leaves`);
  const load = await loadOf(world, size);
  const side = (name: "prove" | "readTiles") => async () =>
    ((await world.callIn(program, name, load)) / load.indexes.length) * 1_000;
  const sides = { ours: side("prove"), floor: side("readTiles") };
  const compared = compare(await takeRounds(world.size(5, 1), sides));
  const note =
    "One after another, from the system's page cache on both sides. Ours finds the leaf in the index, reads the checkpoint, the tiles and the bundle, and answers in JSON; the floor reads the tiles alone.";
  return figure(`inclusion read at ${count(size)} leaves`, "µs", compared, goal, note);
}

async function measureMemory(world: World, small: number, large: number): Promise<readonly Measured[]> {
  world.say("log-proof: memory");
  const held = (size: number) => async (): Promise<NodeJS.MemoryUsage> => {
    await using child = world.start(["--max-semi-space-size=1"]);
    return await child.call(program, "memory", await loadOf(world, size));
  };
  const rounds = await takeRounds(world.size(3, 1), { ours: held(large), floor: held(small) });
  const note =
    "After as many reads of the largest tree, less that of the smallest. What is bounded whatever the tree counts as well: the roots that the reads remember, and the store's page cache, kept to 2 MB here; the space for new objects is kept small.";
  const grown = (what: string, name: "heapUsed" | "rss", goal: Goal | null): Measured => {
    const { ours, floor } = compareBy(rounds, (each) => each[name]);
    return figure(`${what}, largest tree less smallest`, "MB", (ours - floor) / 1_000_000, goal, note);
  };
  return [grown("heap in use", "heapUsed", { atMost: 3 }), grown("resident memory", "rss", null)];
}

const { sha256 } = nativeCrypto;
/** Leaves that are written at once while a log is built. */
const atOnce = 64 * tileWidth;

function open(folder: string) {
  const database = SqliteDatabase.open(join(folder, "store.db"));
  const log = openSqliteLogStore({ database, folder: join(folder, "log") });
  const receipts = openSqliteReceiptStore(database);
  const policy = { quorum: 0, witnesses: [] };
  const reads = createLogReads({ log, receipts, sha256, policy, keys: () => [] });
  return {
    database,
    log,
    inclusion: async (leaf: string) => {
      const outcome = await reads.inclusion({ leaf, region: null, name: null });
      if (outcome.kind !== "answer") throw new Error(`${leaf}: ${JSON.stringify(outcome)}`);
      return outcome.body;
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await log[Symbol.asyncDispose]();
      database.close();
    },
  };
}

/** Writes a log of `size` leaves as the sequencer would, without the sequencer. */
export async function build(folder: string, size: number): Promise<void> {
  await mkdir(folder, { recursive: true });
  await using opened = open(folder);
  const { log } = opened;
  const tree = { read: readTilesOf(log), sha256 };
  for (let from = 0; from < size; from += atOnce) {
    const to = Math.min(size, from + atOnce);
    const entries = numbersTo(to - from).map((at) => benchEntry(from + at));
    const bytes = entries.map(entryBytes);
    const hashes = bytes.map((each) => leafHash(each, sha256));
    const tiles = await extendTree({ ...tree, size: from }, hashes);
    // A batch begins with a full tile, so no partial one is continued on the lowest level.
    const bundles = newTiles(from, to).filter(({ level }) => level === 0);
    const bundled = bundles.map(({ index, width }) => {
      const first = index * tileWidth - from;
      return {
        path: entriesPath({ index, width }),
        bytes: formatBundle(bytes.slice(first, first + width)),
      };
    });
    await log.write(
      [...tiles.map((tile) => ({ path: tilePath(tile), bytes: tile.hashes })), ...bundled],
      entries.map(({ leaf }, at) => ({ leaf, index: from + at })),
    );
  }
  const root = await treeRoot({ ...tree, size });
  const note = formatCheckpoint({ origin, size, root, extensions: [] });
  await log.publish({ size, root: formatHash(root), note });
}

/** Milliseconds that the inclusion reads took. Every proof is verified first. */
export async function prove({ folder, indexes }: ProofLoad): Promise<number> {
  await using opened = open(folder);
  const { log, inclusion } = opened;
  const root = (await log.readCheckpoint())?.root;
  const entries = indexes.map((index) => ({ index, entry: benchEntry(index) }));
  for (const { index, entry } of entries) {
    const { proof, tree_size: treeSize } = JSON.parse(bodyText(await inclusion(entry.leaf))) as {
      readonly proof: readonly string[];
      readonly tree_size: number;
    };
    const path = proof.map((hash) => parseHash(hash) ?? new Uint8Array());
    const leadsTo = rootFromPath({ leafHash: entryHash(entry, sha256), index, treeSize, path }, sha256);
    if (leadsTo === null || formatHash(leadsTo) !== root)
      throw new Error(`the proof of leaf ${index} is wrong`);
  }
  return await msOf(async () => {
    for (const { entry } of entries) await inclusion(entry.leaf);
  });
}

/** Milliseconds that bare reads took of exactly the tiles and the bundle from which each inclusion read follows. */
export async function readTiles({ folder, indexes }: ProofLoad): Promise<number> {
  await using opened = open(folder);
  const size = (await opened.log.readCheckpoint())?.size ?? 0;
  const stored = readTilesOf(opened.log);
  const needed = await Array.fromAsync(indexes, async (index) => {
    const bundle = Math.floor(index / tileWidth);
    const paths = [entriesPath({ index: bundle, width: widthInTree(0, bundle, size) })];
    const read: ReadTiles = (tiles) => {
      paths.push(...tiles.map(tilePath));
      return stored(tiles);
    };
    await inclusionProof({ size, read, sha256 }, index);
    return paths.map((path) => join(folder, "log", path));
  });
  const run = async (): Promise<void> => {
    for (const paths of needed) await Promise.all(paths.map((path) => readFile(path)));
  };
  await run();
  return await msOf(run);
}

/** What the process holds after the reads, beyond what it held before; the page cache of the store is bounded, and small here. */
export async function memory({ folder, indexes }: ProofLoad): Promise<NodeJS.MemoryUsage> {
  await using opened = open(folder);
  opened.database.db.exec("PRAGMA cache_size = -2048");
  for (const index of indexes) await opened.inclusion(benchEntry(index).leaf);
  return heldMemory();
}
