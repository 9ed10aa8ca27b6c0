// The checkpointer's thread: copies the write-ahead logs of store files into the files, without blocking anybody.

import { DatabaseSync } from "node:sqlite";
import { parentPort } from "node:worker_threads";
import { type CheckpointAnswer, type CheckpointOrder, fileState } from "./log-durability.ts";
import { lowerPriority } from "./thread-priority.ts";

const { idle, copying } = fileState;

lowerPriority();

function copyLog(path: string): number {
  using file = new DatabaseSync(path, { timeout: 0 });
  // PASSIVE copies what it can while others read and write (sqlite.org/pragma.html#pragma_wal_checkpoint).
  return Number(file.prepare("PRAGMA wal_checkpoint(PASSIVE)").get()?.["log"]);
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
