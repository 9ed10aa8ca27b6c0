// The state of one push in a file, as client/push-state.ts requires. Only one process at a time holds the file: two runs
// that seal the same records would publish them twice. The lock is the operating system's, through SQLite, so it is
// released with the process, however that ends.

import { mkdir, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isSettled, type PushJournal, type PushState } from "../client/push-state.ts";
import { runsOf } from "../client/record-set.ts";
import { readFileIfThere, replaceFile } from "../crypto/durable-file.ts";

export interface FileJournal extends PushJournal, Disposable {
  readonly path: string;
  /** Which records of the file an unfinished push sends, by index; null if there is none. */
  unfinished(): Promise<readonly number[] | null>;
  /** Begins a push of some of the file's records; the state of a finished one is forgotten. */
  begin(indexes: readonly number[]): Promise<void>;
}

/** The records of the file that the push sends, as ranges: those that had not changed are not in it. */
type FileState = PushState & { readonly chosen: ReturnType<typeof runsOf> };

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
  let chosen: FileState["chosen"] = [];
  const load = async (): Promise<FileState | null> => {
    const text = await readFileIfThere(path);
    return text === null ? null : (JSON.parse(text) as FileState);
  };
  return {
    path,
    load,
    save: (state) => replaceFile(path, `${JSON.stringify({ ...state, chosen })}\n`),
    unfinished: async () => {
      const state = await load();
      if (state === null || state.batches.every(isSettled)) return null;
      chosen = state.chosen;
      return chosen.flatMap(({ first, count }) => Array.from({ length: count }, (_, at) => first + at));
    },
    begin: async (indexes) => {
      chosen = runsOf(indexes);
      await rm(path, { force: true });
    },
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
