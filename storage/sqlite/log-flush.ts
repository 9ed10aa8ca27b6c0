// Flushes a store file's write-ahead log to disk off the event loop. SQLite would do so within COMMIT, and everything else
// would wait for the disk. Here a COMMIT only writes the log and returns at once; it is acknowledged only after a flush
// that began after it has finished (database.ts, D1).
//   F1. A flush covers every COMMIT that returned before it began: the log is one file, and is flushed as a whole.
//   F2. A log that restarts after a checkpoint is the same file; SQLite makes the restart durable itself.

import { closeSync, fdatasync, fdatasyncSync, openSync } from "node:fs";

export interface LogFlush {
  /** Returns when the log is on disk. Throws the system's error. */
  now(): void;
  /**
   * Resolves when the log in its present state is on disk; meanwhile this thread continues. Rejects with the system's
   * error.
   */
  beside(): Promise<void>;
  close(): void;
}

/** Creates the flush for the store file at `path`; its log must exist from the first flush until `close`. */
export function createLogFlush(path: string): LogFlush {
  let opened: number | null = null;
  const log = (): number => {
    // Opened for writing, because not every system flushes a file that was opened for reading.
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
