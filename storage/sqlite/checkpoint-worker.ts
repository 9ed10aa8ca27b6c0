// The checkpointer's thread: copies the write-ahead logs of store files into the files, without blocking anybody.

import { fdatasyncSync, openSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { parentPort } from "node:worker_threads";
import { type CheckpointAnswer, type CheckpointOrder, fileState, longPages } from "./log-durability.ts";
import { lowerPriority } from "./thread-priority.ts";

const { idle, copying } = fileState;
/** How often a long log is copied again for what was committed during a copy, until that is little: each round takes a part of the time before. */
const roundsMax = 5;
const littlePages = 512;

lowerPriority();

/** Store files whose descriptors stay open: closing one would release the locks that SQLite holds on the file (fcntl). */
const files = new Map<string, { readonly descriptor: number; readonly inode: number }>();

/** Returns the length of the log, of which all is copied but what was committed since. */
function copyLog(path: string): number {
  using file = new DatabaseSync(path, { timeout: 0 });
  // PASSIVE copies what it can while others read and write (sqlite.org/pragma.html#pragma_wal_checkpoint).
  const copy = () => Number(file.prepare("PRAGMA wal_checkpoint(PASSIVE)").get()?.["log"]);
  let pages = copy();
  for (let round = 0, before = 0; round < roundsMax && pages >= longPages && pages > before; round += 1) {
    flushFile(path);
    before = pages + littlePages;
    pages = copy();
  }
  return pages;
}

function flushFile(path: string): void {
  const inode = statSync(path).ino;
  const known = files.get(path);
  const open = known?.inode === inode ? known : { descriptor: openSync(path, "r+"), inode };
  files.set(path, open);
  fdatasyncSync(open.descriptor);
}

parentPort?.on("message", ({ id, path, state }: CheckpointOrder) => {
  let pages = 0;
  if (Atomics.compareExchange(state, 0, idle, copying) === idle) {
    try {
      pages = copyLog(path);
    } catch {
      // Nothing is lost: the writer checkpoints on its own when its log has grown long.
    } finally {
      Atomics.store(state, 0, idle);
      Atomics.notify(state, 0);
    }
  }
  parentPort?.postMessage({ id, pages } satisfies CheckpointAnswer);
});
