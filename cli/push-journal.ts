// The state of one push in a file, as client/push-state.ts requires. Only one process at a time holds the file: two runs
// that seal the same records would publish them twice. The lock is the operating system's, through SQLite, so it is
// released with the process, however that ends.

import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { PushJournal, PushState } from "../client/push-state.ts";
import { readFileIfThere, replaceFile } from "../crypto/durable-file.ts";

export interface FileJournal extends PushJournal, Disposable {
  readonly path: string;
}

/** Another process is pushing the same file. */
export class PushRunningError extends Error {
  constructor() {
    super("The same push is already running in another process. Wait for it, or stop it first.");
    this.name = "PushRunningError";
  }
}

/** Takes the lock and releases it on disposal. Throws {@link PushRunningError}. */
export async function openPushJournal(path: string): Promise<FileJournal> {
  await mkdir(dirname(path), { recursive: true });
  const lock = takeLock(`${path}.lock`);
  return {
    path,
    load: async () => {
      const text = await readFileIfThere(path);
      return text === null ? null : (JSON.parse(text) as PushState);
    },
    save: (state) => replaceFile(path, `${JSON.stringify(state)}\n`),
    [Symbol.dispose]: () => lock.close(),
  };
}

/** SQLITE_BUSY: another process holds the lock. */
const busyCode = 5;

function takeLock(path: string): DatabaseSync {
  const lock = new DatabaseSync(path, { timeout: 0 });
  try {
    lock.exec("BEGIN EXCLUSIVE");
    return lock;
  } catch (error) {
    lock.close();
    if ((error as { errcode?: number }).errcode === busyCode) throw new PushRunningError();
    throw error;
  }
}
