// Flushing a store file's write-ahead log to the disk beside the event loop. SQLite would do it within COMMIT, and
// everything else would wait for the disk; a COMMIT that only writes the log returns at once, and nobody is told of it
// before the flush that began after it is done (database.ts, D1).
//   F1. A flush covers every COMMIT that returned before it began: the log is one file, and is flushed as a whole.
//   F2. A log that is begun anew after a checkpoint is the same file; SQLite makes the new beginning durable itself.

import { closeSync, fdatasync, fdatasyncSync, openSync } from "node:fs";

export interface LogFlush {
  /** Returns when the log is on the disk. Throws what the system says. */
  now(): void;
  /** Resolves when the log is on the disk, as it is now; meanwhile this thread goes on. Rejects with what the system says. */
  beside(): Promise<void>;
  close(): void;
}

/** For the store file at `path`; its log must be there when it is first flushed, and until it is closed. */
export function createLogFlush(path: string): LogFlush {
  let opened: number | null = null;
  const log = (): number => {
    // Writable, because not every system flushes what was opened for reading.
    opened ??= openSync(`${path}-wal`, "r+");
    return opened;
  };
  return {
    now: () => fdatasyncSync(log()),
    beside: () =>
      new Promise((resolve, reject) => {
        fdatasync(log(), (error) => (error === null ? resolve() : reject(error)));
      }),
    close: () => {
      if (opened !== null) closeSync(opened);
      opened = null;
    },
  };
}
