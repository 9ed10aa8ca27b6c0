// The durability of one store file's write-ahead log: who flushes it to disk, when it is copied into the file, and what
// follows a failed flush. database.ts decides what a transaction contains; this module decides when it is safe.
//   D1. What was committed before `flushNow` or `flushBeside` was called is on disk when the former returns, or when the latter
//       reports no error.
//   D3. After a failed flush, an operating system may consider the log clean. So nothing more is written to the log until
//       all of it is in the file itself: `beforeWrite` copies it, and throws while it cannot.

import { closeSync, fdatasync, fdatasyncSync, openSync, statSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { type Numbered, WorkerCalls } from "../../std/worker-calls.ts";

/** Log pages at which a COMMIT copies the log itself (128 MiB), should the checkpointer not have done so long before. */
const logPagesMax = 32_768;
/** The same limit where nobody else copies the log. */
const logPagesSelf = 2_048;
/**
 * At this length (32 MiB) a connection that copies the log itself waits for its readers. A COMMIT copies no more than what the oldest
 * read under way began with, and the log begins again only when nobody reads it: never, where reads overlap.
 */
const logPagesLong = 4 * logPagesSelf;
/** A COMMIT of fewer works and fewer changed rows is flushed inline: the round trip to another thread takes longer. */
const besideWorksMin = 4;
const besideChangesMin = 64;
/** After a flush that took longer than this, the disk is busy, and no COMMIT waits for it inline before so many flushes were quick. */
const slowFlushMs = 2;
const quickFlushesMin = 16;

export interface LogOptions {
  /** FULL flushes the log for every COMMIT and survives a loss of power; NORMAL survives only the loss of the process. */
  readonly synchronous?: "FULL" | "NORMAL";
  /**
   * Who copies the log into the file: the process's checkpoint thread, or the connection itself within a COMMIT, where
   * that delays nobody.
   */
  readonly checkpoints?: "thread" | "self";
  /** Replaces {@link createLogFlush}. */
  readonly logFlush?: (path: string) => LogFlush;
}

/** SQL that prepares a connection for having its log managed here. */
export function logPragmas(path: string, options: LogOptions): string {
  const synchronous = isFlushedHere(path, options) ? "NORMAL" : (options.synchronous ?? "FULL");
  const pages = options.checkpoints === "self" ? logPagesSelf : logPagesMax;
  return `PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}; PRAGMA wal_autocheckpoint = ${pages};`;
}

/** A file with its own thread may wait for the disk within COMMIT: that thread does nothing else. */
function isFlushedHere(path: string, { synchronous, checkpoints }: LogOptions): boolean {
  return path !== ":memory:" && synchronous !== "NORMAL" && checkpoints !== "self";
}

export class LogDurability {
  readonly #db: DatabaseSync;
  readonly #totalChanges: StatementSync;
  /** Copies nothing. */
  readonly #logLength: StatementSync;
  readonly #checkpointer: Checkpointer | null;
  /** Length at which the log is next begun again; null where somebody else copies it. */
  #pagesMost: number | null;
  /** Null where the log is not flushed, or is flushed by SQLite itself. */
  readonly #flush: LogFlush | null;
  /** True if a flush failed and the log has not been copied since (D3). */
  #isInDoubt = false;
  #changes = 0;
  /** Changed rows that are counted besides SQLite's own count. */
  #counted = 0;
  /** Whether the last COMMIT was small. */
  #isSmall = true;
  /** Quick flushes that are still to come before the disk is not busy any more. */
  #quickToCome = 0;

  /** Expects a connection that was set up with {@link logPragmas}. */
  constructor(db: DatabaseSync, path: string, options: LogOptions) {
    this.#db = db;
    this.#totalChanges = db.prepare("SELECT total_changes() AS total");
    this.#logLength = db.prepare("PRAGMA wal_checkpoint(NOOP)");
    const isCopiedBeside = path !== ":memory:" && options.checkpoints !== "self";
    this.#checkpointer = isCopiedBeside ? createCheckpointer(path, () => this.#copyRest()) : null;
    this.#pagesMost = options.checkpoints === "self" ? logPagesLong : null;
    this.#flush = isFlushedHere(path, options) ? (options.logFlush ?? createLogFlush)(path) : null;
  }

  /**
   * Must be called before each transaction. While the log is in doubt it throws the disk's error, or because a reader
   * still uses the log (D3).
   */
  beforeWrite(): void {
    if (!this.#isInDoubt) return;
    const outcome = this.#db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    if (outcome?.["busy"] !== 0) throw new Error("the log could not be flushed and is still being read");
    this.#isInDoubt = false;
  }

  /** Counts the next COMMIT as one of so many more changed rows. */
  countChanges(rows: number): void {
    this.#counted += rows;
  }

  /** Must be called after each COMMIT, with its number of works. */
  committed(works: number): void {
    const changes = Number(this.#totalChanges.get()?.["total"]) + this.#counted;
    this.#isSmall = works < besideWorksMin && changes - this.#changes < besideChangesMin;
    this.#changes = changes;
    this.#checkpointer?.committed(changes);
    if (this.#pagesMost !== null) this.#beginAgain(this.#pagesMost);
  }

  /** Waits at most as long as for a lock: reads that begin meanwhile are not waited for. */
  #beginAgain(pagesMost: number): void {
    const pages = Number(this.#logLength.get()?.["log"]);
    if (pages < pagesMost) return;
    let isDone = false;
    try {
      isDone = this.#db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.["busy"] === 0;
    } catch {
      // The COMMIT stands, whatever becomes of the copy.
    }
    this.#pagesMost = isDone ? logPagesLong : pages + logPagesLong;
  }

  /** See P4. */
  #copyRest(): void {
    try {
      this.#db.exec("PRAGMA wal_checkpoint(PASSIVE)");
    } catch {
      // The COMMIT that finds the log too long tries again.
    }
  }

  /** Whether the last COMMIT is better flushed on another thread than here. */
  get isFlushedBeside(): boolean {
    return this.#flush !== null && (this.#quickToCome > 0 || !this.#isSmall);
  }

  /** Throws the system's error (D1). */
  flushNow(): void {
    const startedMs = performance.now();
    try {
      this.#flush?.now();
    } catch (error) {
      this.#isInDoubt = true;
      throw error;
    }
    this.#noteFlush(startedMs);
  }

  /**
   * Flushes on another thread, and then calls `end` with null or with the system's error (D1). The log is in doubt before
   * `end` hears of an error, so nothing can be written in between (D3).
   */
  flushBeside(end: (error: unknown) => void): void {
    const startedMs = performance.now();
    this.#flush?.beside().then(
      () => {
        this.#noteFlush(startedMs);
        end(null);
      },
      (error: unknown) => {
        this.#isInDoubt = true;
        end(error);
      },
    );
  }

  /** Must be called before the connection is closed, which then copies and removes the log. */
  close(): void {
    this.#checkpointer?.close();
    this.#flush?.close();
  }

  #noteFlush(startedMs: number): void {
    const isSlow = performance.now() - startedMs > slowFlushMs;
    this.#quickToCome = isSlow ? quickFlushesMin : Math.max(0, this.#quickToCome - 1);
  }
}

// Flushes a store file's write-ahead log to disk off the event loop. SQLite would do so within COMMIT, and everything else
// would wait for the disk. Here a COMMIT only writes the log and returns at once; it is acknowledged only after a flush
// that began after it has finished (database.ts, D1).
//   F1. A flush covers every COMMIT that returned before it began: the log is one file, and is flushed as a whole.
//   F2. A log that restarts after a checkpoint is the same file; SQLite makes the restart durable itself.

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

// Checkpoints off the event loop. A COMMIT that finds the log long would copy it into the file before returning, and
// everybody would wait; a dedicated thread copies it before that happens.
//   P1. It only copies what is already committed: without it, or if it fails, only time is lost.
//   P2. One thread serves all files of the process, and keeps it alive only while a copy is under way.
//   P3. Once `close` has returned, the thread does not touch the file: it may be moved, deleted or recreated. The thread
//       therefore opens it for one copy at a time, and only after it has found that the file is not closed; a late thread
//       would otherwise create an empty file of that name, or remove the log of whatever file has it by then.
//   P4. The log begins again only after a copy of all of it, and a copy lacks what was committed meanwhile. So of a long log the thread
//       copies again what came during a copy, until that is little, and has the file flushed; then the writer copies the rest, and its
//       flush of the file has little to wait for. Otherwise the log of a writer that never rests would grow until some COMMIT has to
//       copy and flush it all.

/** Who may touch a file: nobody does, the thread does, it does and shall end soon, or the thread no longer may. */
export const fileState = { idle: 0, copying: 1, closing: 2, closed: 3 } as const;

export interface CheckpointOrder extends Numbered {
  readonly path: string;
  /** The file's {@link fileState}: one shared 32-bit integer, set by compare-and-set on both sides. */
  readonly state: Int32Array<SharedArrayBuffer>;
  /** By which it flushes the file of a long log; null where none is expected. */
  readonly descriptor: number | null;
}

export interface CheckpointAnswer extends Numbered {
  /** Number of pages of the log that are copied, 0 where it could not be. */
  readonly pages: number;
}

/** Number of changed rows after which the log is copied: a few megabytes of log. */
const rowsBetween = 1_000;
/** Log pages (32 MiB) from which on the thread copies in rounds, and the writer the rest (P4). */
export const longPages = 8_192;
/** Maximum wait for a copy under way (P3); it takes that long only if the thread has died. */
const closeWaitMs = 30_000;

export interface Checkpointer {
  /** Called after each COMMIT with the number of rows changed on the connection so far. */
  committed(totalChanges: number): void;
  /** Must be called before the writer's own connection is closed, which then copies and removes the log. */
  close(): void;
}

const calls = new WorkerCalls<CheckpointOrder, CheckpointAnswer>(
  "checkpoint",
  () => new Worker(new URL("./checkpoint-worker.ts", import.meta.url)),
  { isKept: false },
);

/** By path. None is ever closed, since that would release the locks that SQLite holds on the file (fcntl), in this and all threads. */
const opened = new Map<string, { readonly descriptor: number; readonly file: string }>();

/** A descriptor of the file that is at `path` now; null where it cannot be opened. */
function openFile(path: string): number | null {
  try {
    const { dev, ino } = statSync(path);
    const file = `${dev}/${ino}`;
    const known = opened.get(path);
    if (known?.file === file) return known.descriptor;
    const descriptor = openSync(path, "r+");
    opened.set(path, { descriptor, file });
    return descriptor;
  } catch {
    return null;
  }
}

/** Creates the checkpointer of one store file; none of its calls fails. `copyRest` is called for the rest of a long log (P4). */
export function createCheckpointer(path: string, copyRest: () => void = () => {}): Checkpointer {
  const state = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  let copiedAt = 0;
  let isUnderWay = false;
  let pagesBefore = 0;
  return {
    committed: (totalChanges) => {
      if (isUnderWay || totalChanges - copiedAt < rowsBetween) return;
      copiedAt = totalChanges;
      isUnderWay = true;
      calls
        .call((id) => ({ id, path, state, descriptor: pagesBefore < longPages / 2 ? null : openFile(path) }))
        // Nothing is lost where the thread ends: the writer checkpoints on its own when its log has grown long.
        .catch(() => ({ pages: 0 }))
        .then(({ pages }) => {
          isUnderWay = false;
          pagesBefore = pages;
          if (pages >= longPages && Atomics.load(state, 0) !== fileState.closed) copyRest();
        });
    },
    close: () => {
      const { idle, copying, closing, closed } = fileState;
      const endMs = performance.now() + closeWaitMs;
      for (;;) {
        const seen = Atomics.compareExchange(state, 0, idle, closed);
        if (seen === idle || seen === closed) return;
        Atomics.compareExchange(state, 0, copying, closing);
        if (Atomics.wait(state, 0, closing, endMs - performance.now()) === "timed-out") return;
      }
    },
  };
}
