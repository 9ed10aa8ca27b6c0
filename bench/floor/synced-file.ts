// A store file of a floor that claims durability. A transaction is on the disk before anybody learns that it was made: its log is
// flushed right after the COMMIT, with the flush of the service itself, and each flush is counted, so that a floor that does not
// reach the disk is noticed (floor.test.ts). The log is checkpointed in a separate thread, as in the service.

import type { FileHandle } from "node:fs/promises";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import {
  type Checkpointer,
  createCheckpointer,
  createLogFlush,
  type LogFlush,
} from "../../storage/sqlite/log-durability.ts";

/** SQLite itself does not flush the log, because the file does. */
const pragmas = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000;";

let flushed = 0;

export function flushCount(): number {
  return flushed;
}

/** Flushes another file, and counts it as well. */
export async function syncFile(file: FileHandle): Promise<void> {
  await file.sync();
  flushed += 1;
}

export class SyncedFile {
  readonly db: DatabaseSync;
  readonly #isOwn: boolean;
  readonly #checkpointer: Checkpointer;
  readonly #log: LogFlush;
  readonly #changes: StatementSync;
  #works: { readonly run: () => void; readonly done: () => void }[] = [];

  /** Opens the file at `path`; a connection to it that is given remains its opener's. */
  constructor(path: string, given: DatabaseSync | null = null) {
    this.db = given ?? new DatabaseSync(path);
    this.#isOwn = given === null;
    if (this.#isOwn) this.db.exec(pragmas);
    this.#checkpointer = createCheckpointer(path);
    this.#log = createLogFlush(path);
    this.#changes = this.db.prepare("SELECT total_changes() AS total");
  }

  /** Returns once the effect of `work` is on the disk. */
  transact(work: () => void): void {
    this.db.exec("BEGIN IMMEDIATE");
    work();
    this.db.exec("COMMIT");
    this.#log.now();
    flushed += 1;
    this.#checkpointer.committed(Number(this.#changes.get()?.["total"]));
  }

  /** Resolves once the effect of `run` is on the disk: what is asked for in one turn of the event loop is one transaction. */
  write(run: () => void): Promise<void> {
    return new Promise((done) => {
      this.#works.push({ run, done });
      if (this.#works.length === 1) setImmediate(() => this.#writeAll());
    });
  }

  close(): void {
    this.#checkpointer.close();
    this.#log.close();
    if (this.#isOwn) this.db.close();
  }

  #writeAll(): void {
    const works = this.#works;
    this.#works = [];
    this.transact(() => {
      for (const { run } of works) run();
    });
    for (const { done } of works) done();
  }
}
