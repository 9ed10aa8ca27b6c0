// In a child process: inclusion reads of a log on the embedded store, and bare reads of the same tiles.

import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { readTilesOf } from "../../actors/log-sequencer/stored-tree.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { formatHash, parseHash } from "../../protocol/hash.ts";
import { entryBytes, entryHash, formatBundle } from "../../protocol/log/entries.ts";
import { formatCheckpoint } from "../../protocol/log/note.ts";
import { inclusionProof, treeRoot } from "../../protocol/log/proofs.ts";
import {
  entriesPath,
  extendTree,
  newTiles,
  type ReadTiles,
  tilePath,
  tileWidth,
  widthInTree,
} from "../../protocol/log/tiles.ts";
import { leafHash, rootFromPath } from "../../protocol/merkle.ts";
import { bodyText } from "../../service/answer.ts";
import { createLogReads } from "../../service/log-reads.ts";
import { SqliteDatabase } from "../../storage/sqlite/database.ts";
import { openSqliteLogStore } from "../../storage/sqlite/log-store.ts";
import { openSqliteReceiptStore } from "../../storage/sqlite/receipt-store.ts";
import { heldMemory, msOf } from "../work.ts";
import { benchEntry, origin } from "./sequencer.ts";

export interface ProofLoad {
  readonly folder: string;
  /** The leaves that are asked for, one after another. */
  readonly indexes: readonly number[];
}

const { sha256 } = nativeCrypto;
/** Leaves that are written at once while a log is built. */
const atOnce = 64 * tileWidth;
const logFolder = "log";

/** Writes a log of `size` leaves as the sequencer would, without the sequencer. */
export async function build(folder: string, size: number): Promise<void> {
  await mkdir(folder, { recursive: true });
  await using opened = open(folder);
  const { log } = opened;
  const tree = { read: readTilesOf(log), sha256 };
  for (let from = 0; from < size; from += atOnce) {
    const to = Math.min(size, from + atOnce);
    const entries = Array.from({ length: to - from }, (_, at) => benchEntry(from + at));
    const bytes = entries.map(entryBytes);
    const hashes = bytes.map((each) => leafHash(each, sha256));
    const tiles = await extendTree({ ...tree, size: from }, hashes);
    // A batch begins with a full tile, so no partial one is continued on the lowest level.
    const bundles = newTiles(from, to).filter(({ level }) => level === 0);
    await log.write(
      [
        ...tiles.map((tile) => ({ path: tilePath(tile), bytes: tile.hashes })),
        ...bundles.map(({ index, width }) => {
          const first = index * tileWidth - from;
          return {
            path: entriesPath({ index, width }),
            bytes: formatBundle(bytes.slice(first, first + width)),
          };
        }),
      ],
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
  const { log, reads } = opened;
  const checkpoint = await log.readCheckpoint();
  const root = parseHash(checkpoint?.root ?? "");
  for (const index of indexes) {
    const entry = benchEntry(index);
    const { proof, tree_size: treeSize } = await inclusionOf(reads, entry.leaf);
    const path = proof.map((hash) => parseHash(hash) ?? new Uint8Array());
    const leadsTo = rootFromPath({ leafHash: entryHash(entry, sha256), index, treeSize, path }, sha256);
    if (root === null || leadsTo === null || formatHash(leadsTo) !== formatHash(root))
      throw new Error(`the proof of leaf ${index} is wrong`);
  }
  const leaves = indexes.map((index) => benchEntry(index).leaf);
  return await msOf(async () => {
    for (const leaf of leaves) await reads.inclusion({ leaf, region: null, name: null });
  });
}

async function inclusionOf(
  reads: ReturnType<typeof createLogReads>,
  leaf: string,
): Promise<{ readonly proof: readonly string[]; readonly tree_size: number }> {
  const outcome = await reads.inclusion({ leaf, region: null, name: null });
  if (outcome.kind !== "answer") throw new Error(`${leaf}: ${JSON.stringify(outcome)}`);
  return JSON.parse(bodyText(outcome.body));
}

/** Milliseconds that bare reads took of exactly the tiles and the bundle from which each inclusion read follows. */
export async function readTiles({ folder, indexes }: ProofLoad): Promise<number> {
  const needed: (readonly string[])[] = [];
  {
    await using opened = open(folder);
    const size = (await opened.log.readCheckpoint())?.size ?? 0;
    const stored = readTilesOf(opened.log);
    for (const index of indexes) {
      const bundle = Math.floor(index / tileWidth);
      const paths = [entriesPath({ index: bundle, width: widthInTree(0, bundle, size) })];
      const read: ReadTiles = (tiles) => {
        paths.push(...tiles.map(tilePath));
        return stored(tiles);
      };
      await inclusionProof({ size, read, sha256 }, index);
      needed.push(paths.map((path) => join(folder, logFolder, path)));
    }
  }
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
  for (const index of indexes) await inclusionOf(opened.reads, benchEntry(index).leaf);
  return heldMemory();
}

function open(folder: string) {
  const database = SqliteDatabase.open(join(folder, "store.db"));
  const log = openSqliteLogStore({ database, folder: join(folder, logFolder) });
  return {
    database,
    log,
    reads: createLogReads({
      log,
      receipts: openSqliteReceiptStore(database),
      sha256,
      policy: { quorum: 0, witnesses: [] },
      keys: () => [],
    }),
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await log[Symbol.asyncDispose]();
      database.close();
    },
  };
}
