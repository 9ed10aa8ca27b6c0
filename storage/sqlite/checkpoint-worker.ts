// The checkpointer's thread: copies the write-ahead logs of store files into the files, without blocking anybody.

import { fdatasyncSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { parentPort } from "node:worker_threads";
import { type CheckpointAnswer, type CheckpointOrder, fileState, longPages } from "./log-durability.ts";
import { lowerPriority } from "./thread-priority.ts";

const { idle, copying } = fileState;
/** How often a long log is copied again for what was committed during a copy: each round takes a part of the time before. */
const roundsMax = 5;
/** Pages that the writer may copy itself. */
const littlePages = 512;

lowerPriority();

/** Returns how many pages of the log are copied: all but what was committed since, or what a reader under way still needs. */
function copyLog({ path, state, descriptor }: CheckpointOrder): number {
  using file = new DatabaseSync(path, { timeout: 0 });
  // PASSIVE copies what it can while others read and write (sqlite.org/pragma.html#pragma_wal_checkpoint).
  const copy = () => Number(file.prepare("PRAGMA wal_checkpoint(PASSIVE)").get()?.["checkpointed"]);
  let pages = copy();
  for (let round = 0, enough = 0; round < roundsMax && pages >= longPages && pages > enough; round += 1) {
    if (Atomics.load(state, 0) !== copying) break;
    if (descriptor !== null) fdatasyncSync(descriptor);
    enough = pages + littlePages;
    pages = copy();
  }
  return pages;
}

parentPort?.on("message", (order: CheckpointOrder) => {
  const { id, state } = order;
  let pages = 0;
  if (Atomics.compareExchange(state, 0, idle, copying) === idle) {
    try {
      pages = copyLog(order);
    } catch {
      // Nothing is lost: the writer checkpoints on its own when its log has grown long.
    } finally {
      Atomics.store(state, 0, idle);
      Atomics.notify(state, 0);
    }
  }
  parentPort?.postMessage({ id, pages } satisfies CheckpointAnswer);
});
