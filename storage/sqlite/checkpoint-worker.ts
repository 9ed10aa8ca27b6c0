// The checkpointer's thread: copies the write-ahead logs of store files into the files, without blocking anybody.

import { DatabaseSync } from "node:sqlite";
import { parentPort } from "node:worker_threads";
import type { CheckpointOrder } from "./checkpointer.ts";
import { lowerPriority } from "./thread-priority.ts";

lowerPriority();
const files = new Map<string, DatabaseSync>();

function carryOut({ path, close }: CheckpointOrder): void {
  const known = files.get(path);
  if (close) {
    files.delete(path);
    known?.close();
    return;
  }
  const file = known ?? new DatabaseSync(path, { timeout: 0 });
  files.set(path, file);
  // PASSIVE copies what it can while others read and write (sqlite.org/pragma.html#pragma_wal_checkpoint).
  file.exec("PRAGMA wal_checkpoint(PASSIVE)");
}

parentPort?.on("message", (order: CheckpointOrder) => {
  try {
    carryOut(order);
  } catch {
    // Nothing is lost: the writer checkpoints on its own when its log has grown long.
  } finally {
    Atomics.sub(order.open, 0, 1);
    Atomics.notify(order.open, 0);
  }
});
