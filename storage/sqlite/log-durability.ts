// The durability of one store file's write-ahead log: who flushes it to the disk, when it is copied into the file, and
// what follows a flush that failed. database.ts decides what a transaction holds; here it is decided when it is safe.
//   D1. What `committed` was told of is on the disk when it returned null, or when the promise that it returned resolves.
//   D3. A system may take a log whose flush failed for clean afterwards. So after a failed flush nothing is written behind it
//       before all of it is in the file itself: `beforeWrite` copies it, and throws while it cannot.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { type Checkpointer, createCheckpointer } from "./checkpointer.ts";
import { createLogFlush, type LogFlush } from "./log-flush.ts";

/** Pages of the log at which a COMMIT copies it itself (64 MiB), should the checkpointer not have done so long before. */
const logPagesMax = 16_384;
/** The same where nobody else copies it. */
const logPagesSelf = 2_048;
/** A COMMIT of fewer works and fewer changed rows is flushed at once: the way to another thread and back takes longer. */
const besideWorksMin = 4;
const besideChangesMin = 64;

export interface LogOptions {
  /** FULL flushes the log for every COMMIT and survives a loss of power; NORMAL survives a loss of the process only. */
  readonly synchronous?: "FULL" | "NORMAL";
  /**
   * Who copies the log into the file: the process's checkpoint thread, or the connection itself within a COMMIT, where
   * that holds nobody up.
   */
  readonly checkpoints?: "thread" | "self";
  /** In place of {@link createLogFlush}. */
  readonly logFlush?: (path: string) => LogFlush;
}

/** SQL that sets a connection up for its log being kept here. */
export function logPragmas(path: string, options: LogOptions): string {
  const synchronous = isFlushedHere(path, options) ? "NORMAL" : (options.synchronous ?? "FULL");
  const pages = options.checkpoints === "self" ? logPagesSelf : logPagesMax;
  return `PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}; PRAGMA wal_autocheckpoint = ${pages};`;
}

/** A file of its own thread may wait for the disk within COMMIT: nothing else is done there. */
function isFlushedHere(path: string, { synchronous, checkpoints }: LogOptions): boolean {
  return path !== ":memory:" && synchronous !== "NORMAL" && checkpoints !== "self";
}

export class LogDurability {
  readonly #db: DatabaseSync;
  readonly #totalChanges: StatementSync;
  readonly #checkpointer: Checkpointer | null;
  /** Null where the log is not flushed, or by SQLite itself. */
  readonly #flush: LogFlush | null;
  /** A flush failed, and the log was not copied since (D3). */
  #isInDoubt = false;
  #changes = 0;

  /** For a connection that {@link logPragmas} set up. */
  constructor(db: DatabaseSync, path: string, options: LogOptions) {
    this.#db = db;
    this.#totalChanges = db.prepare("SELECT total_changes() AS total");
    const isCopiedBeside = path !== ":memory:" && options.checkpoints !== "self";
    this.#checkpointer = isCopiedBeside ? createCheckpointer(path) : null;
    this.#flush = isFlushedHere(path, options) ? (options.logFlush ?? createLogFlush)(path) : null;
  }

  /** To be called before each transaction. Throws while the log is in doubt and still read, and what the disk says (D3). */
  beforeWrite(): void {
    if (!this.#isInDoubt) return;
    const outcome = this.#db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    if (outcome?.["busy"] !== 0) throw new Error("the log could not be flushed and is still being read");
    this.#isInDoubt = false;
  }

  /**
   * To be called after each COMMIT of so many works. Null when it is on the disk, else a promise that resolves when it is;
   * throws or rejects with what the system says. Only where `mayWait` is there a promise.
   */
  committed(works: number, { mayWait }: { readonly mayWait: boolean }): Promise<void> | null {
    const changes = Number(this.#totalChanges.get()?.["total"]);
    const isSmall = works < besideWorksMin && changes - this.#changes < besideChangesMin;
    this.#changes = changes;
    this.#checkpointer?.committed(changes);
    if (this.#flush !== null && !isSmall && mayWait) {
      return this.#flush.beside().catch((error: unknown) => this.#doubt(error));
    }
    this.flushNow();
    return null;
  }

  /** Everything that was committed is on the disk when it returns. */
  flushNow(): void {
    try {
      this.#flush?.now();
    } catch (error) {
      this.#doubt(error);
    }
  }

  /** To be called before the connection is closed, which then copies and removes the log. */
  close(): void {
    this.#checkpointer?.close();
    this.#flush?.close();
  }

  #doubt(error: unknown): never {
    this.#isInDoubt = true;
    throw error;
  }
}
