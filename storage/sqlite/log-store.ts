// The log on one machine: L1–L4 of the port. Tiles and bundles are files, so that a backup or a web server takes them as they
// are; the index of leaves and the checkpoint are in the store file.
//   F1. A file is written under a draft's name and flushed; only then it takes its own name, and its folder is flushed as well.
//       Leaves and checkpoints are committed after that, so they never name what a loss of power takes away.
//   F2. Once it is closed, nothing more is written to the folder.

import { type FileHandle, link, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { equalBytes } from "../../protocol/bytes.ts";
import { parseTilePath, splitTilePath, tileWidth } from "../../protocol/log/tiles.ts";
import { StoreError } from "../actor-store.ts";
import {
  beginningOf,
  isReplaceable,
  LogConflict,
  type LogObject,
  type LogStore,
  type StoredCheckpoint,
} from "../log-store.ts";
import { numberOf, textOf } from "./columns.ts";
import type { SqliteDatabase } from "./database.ts";

const migrations = [
  `CREATE TABLE log_leaf (leaf TEXT PRIMARY KEY, place INTEGER NOT NULL) WITHOUT ROWID;
   CREATE TABLE log_checkpoint (
     one INTEGER PRIMARY KEY CHECK (one = 1), size INTEGER NOT NULL, root TEXT NOT NULL, note TEXT NOT NULL);`,
];

export interface SqliteLogOptions {
  readonly database: SqliteDatabase;
  /** Where tiles and bundles are kept, under their own paths. */
  readonly folder: string;
}

/** Opens the log, creating its tables if they are missing. It is closed before its database. */
export function openSqliteLogStore({ database, folder }: SqliteLogOptions): LogStore & AsyncDisposable {
  database.migrate("log", migrations);
  const find = database.prepare("SELECT place FROM log_leaf WHERE leaf = ?");
  const put = database.prepare("INSERT OR IGNORE INTO log_leaf VALUES (?, ?)");
  const replace = database.prepare("UPDATE log_leaf SET place = ? WHERE leaf = ?");
  const current = database.prepare("SELECT size, root, note FROM log_checkpoint");
  const publish = database.prepare("INSERT OR REPLACE INTO log_checkpoint VALUES (1, ?, ?, ?)");
  const findLeaf = (leaf: string): number | null => {
    const row = find.get(leaf);
    return row === undefined ? null : numberOf(row["place"]);
  };
  const readCheckpoint = (): StoredCheckpoint | null => {
    const row = current.get();
    if (row === undefined) return null;
    return { size: numberOf(row["size"]), root: textOf(row["root"]), note: textOf(row["note"]) };
  };
  const flushed = new Set<string>();
  const underWay = new Set<Promise<unknown>>();
  let isClosed = false;
  const keepFiles = async (
    objects: readonly LogObject[],
    over: number | undefined,
  ): Promise<readonly LogObject[]> => {
    if (isClosed) throw new StoreError("not_applied", "the log is closed");
    const kept = Promise.allSettled(objects.map((object) => keepFile(folder, object, over)));
    underWay.add(kept);
    const outcomes = await kept;
    underWay.delete(kept);
    return objects.filter((_object, at) => {
      const outcome = outcomes[at];
      if (outcome?.status === "rejected") throw outcome.reason;
      return outcome?.value === true;
    });
  };
  return {
    [Symbol.asyncDispose]: async () => {
      isClosed = true;
      await Promise.all(underWay);
    },
    write: async (objects, leaves, { over } = {}) => {
      const files = await keepFiles(objects, over);
      await flushFolders(folder, files, flushed);
      const full = files.filter(({ path }) => splitTilePath(path)?.width === tileWidth);
      if (full.length > 0) await removePartials(folder, full);
      await database.write(() => {
        for (const { leaf, index } of leaves) {
          if (put.run(leaf, index).changes === 1) continue;
          const known = findLeaf(leaf);
          if (known === index) continue;
          if (over !== undefined && known !== null && known >= over) replace.run(index, leaf);
          else throw new LogConflict(`${leaf} is leaf ${known}, and never ${index}.`);
        }
      });
    },
    read: (paths) => Promise.all(paths.map((path) => readObject(folder, path))),
    findLeaves: async (leaves) => leaves.map(findLeaf),
    publish: ({ size, root, note }) =>
      database.write(() => {
        const last = readCheckpoint();
        if (last !== null && (size < last.size || (size === last.size && root !== last.root)))
          throw new LogConflict(`The log has ${last.size} leaves and cannot become one of ${size}.`);
        publish.run(size, root, note);
      }),
    readCheckpoint: async () => readCheckpoint(),
    readNewestCheckpoint: async () => readCheckpoint(),
  };
}

/** The name of a file in the folder; what is no object's path might lead out of it. */
function fileOf(folder: string, path: string): string {
  if (parseTilePath(path) === null) throw new RangeError("Not the path of a tile.");
  return join(folder, path);
}

async function readObject(folder: string, path: string): Promise<Uint8Array | null> {
  return (await readIfThere(fileOf(folder, path))) ?? readBeginning(folder, path);
}

/** A partial tile as the full one of its place gives it; null where there is none, and for a full tile. */
async function readBeginning(folder: string, path: string): Promise<Uint8Array | null> {
  const place = splitTilePath(path);
  if (place === null || place.width === tileWidth) return null;
  const whole = await readIfThere(fileOf(folder, place.full));
  return whole && beginningOf(path, whole);
}

async function readIfThere(name: string): Promise<Uint8Array | null> {
  try {
    return await readFile(name);
  } catch (error) {
    // Where a partial tile is asked for, what stands before it may be a file: a full tile of the same number.
    if (isCode(error, "ENOENT") || isCode(error, "ENOTDIR")) return null;
    throw error;
  }
}

/** Once the full tiles are on the disk (L2). What a crash leaves is removed when the same tiles are written again. */
async function removePartials(folder: string, full: readonly LogObject[]): Promise<void> {
  await Promise.all(
    full.map(({ path }) => rm(`${fileOf(folder, path)}.p`, { recursive: true, force: true })),
  );
}

/** Creates the file, or finds the same bytes in it (L2); false where they are the beginning of a full tile, and need none. */
async function keepFile(
  folder: string,
  { path, bytes }: LogObject,
  over: number | undefined,
): Promise<boolean> {
  const name = fileOf(folder, path);
  const draft = `${name}.new`;
  // Only where there is no folder of partial tiles, there may be the full one.
  let opened = await openDraft(draft);
  if (opened === null) {
    const known = await readBeginning(folder, path);
    if (known !== null && equalBytes(known, bytes)) return false;
    if (known !== null && !isReplaceable(path, over))
      throw new LogConflict(`${path} has other bytes already.`);
    opened = await openInNewFolder(draft);
  }
  {
    await using file = opened;
    await file.writeFile(bytes);
    await file.sync();
  }
  try {
    await link(draft, name);
  } catch (error) {
    if (!isCode(error, "EEXIST")) throw error;
    if (equalBytes(await readFile(name), bytes)) return true;
    if (!isReplaceable(path, over)) throw new LogConflict(`${path} has other bytes already.`);
    await rename(draft, name);
  } finally {
    await rm(draft, { force: true });
  }
  return true;
}

/**
 * A new file; null where it has no folder. A draft that a crash left may already have its own name as well, so it is removed and never
 * written to.
 */
async function openDraft(draft: string): Promise<FileHandle | null> {
  try {
    return await open(draft, "wx", 0o600);
  } catch (error) {
    if (isCode(error, "ENOENT")) return null;
    if (!isCode(error, "EEXIST")) throw error;
    await rm(draft, { force: true });
  }
  return open(draft, "wx", 0o600);
}

/** The folder may have been made for another file meanwhile, and not this draft: each object is written once at a time. */
async function openInNewFolder(draft: string): Promise<FileHandle> {
  await mkdir(dirname(draft), { recursive: true, mode: 0o700 });
  return open(draft, "wx", 0o600);
}

/** Folders whose own names are known to be on the disk, at most; beyond that they are flushed again. */
const flushedMax = 1_024;

/**
 * A name survives a loss of power only once its folder is on the disk, and so does the folder's own. Of a folder, only the names of
 * objects change again and again; its own name is flushed once, by this process or an earlier one that nobody can ask.
 */
async function flushFolders(
  folder: string,
  objects: readonly LogObject[],
  flushed: Set<string>,
): Promise<void> {
  // Windows cannot open a folder; its file names are durable without this.
  if (process.platform === "win32") return;
  const folders = new Set<string>();
  const named = new Set<string>();
  for (const { path } of objects) {
    folders.add(join(folder, dirname(path)));
    for (let at = dirname(path); at !== "." && !flushed.has(at); at = dirname(at)) {
      folders.add(join(folder, dirname(at)));
      named.add(at);
    }
  }
  await Promise.all(
    [...folders].map(async (name) => {
      await using opened = await open(name, "r");
      await opened.sync();
    }),
  );
  if (flushed.size + named.size > flushedMax) flushed.clear();
  for (const name of named) flushed.add(name);
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
