// One store file, one connection, one writer. Every SQLite adapter writes through it, so that all works waiting in the
// same turn of the event loop share one transaction and one flush to disk.
//   D1. A promise returned by `write` resolves only after the COMMIT that contains its work has returned, and after a flush of
//       the log that began after that COMMIT has ended well.
//   D2. A work that throws affects nothing else: its own changes are rolled back, its neighbours are committed.
//   D3. A COMMIT that fails rejects the whole group, with `unknown` unless SQLite says that nothing was written. A flush that
//       fails rejects, with `unknown`, every group that is committed and not acknowledged, whether the flush began before its
//       COMMIT or after it: in the log it follows what may be missing. Nothing is written then until the log is safe again
//       (log-durability.ts).
//   D4. Groups run without yielding, so a read on the same connection never sees an open transaction. It may see commits
//       that are not on disk yet (log-durability.ts). What the reader then writes is acknowledged after those commits,
//       because groups are acknowledged in the order of their COMMITs.
//   D5. A work can tell whether an earlier work is in the same or an earlier COMMIT (`writeAfter`).

import { DatabaseSync, type StatementSync } from "node:sqlite";
import { StoreError } from "../actor-store.ts";
import { LogDurability, type LogOptions, logPragmas } from "./log-durability.ts";

/**
 * Version of the file layout itself (`PRAGMA user_version`); tables are versioned separately, see
 * {@link SqliteDatabase.migrate}.
 */
const fileVersion = 1;
/** Marks a store file as ours (`PRAGMA application_id`, "SVC1"). */
const applicationId = 0x53_56_43_31;
/** Maximum works in one transaction; the rest wait for the next one, so that readers get a turn in between. */
const groupMaxDefault = 512;
/**
 * From this many waiting works on, a group runs while earlier ones are flushed, and twice as many are halved, so that one half
 * runs while the other is flushed. Fewer wait for the end of the flush: a COMMIT of their own would save them nothing, because
 * they need the next flush in either case.
 */
const overlapMin = 32;
const cacheKilobytesDefault = 16_384;

/** The phase of a COMMIT: about to be made, or made but not yet acknowledged to anybody. */
export type CommitPhase = "before" | "after";

export interface SqliteOptions extends LogOptions {
  /** Maximum wait for a lock held by another process. */
  readonly busyTimeoutMs?: number;
  /** Maximum number of works in one transaction. */
  readonly groupMax?: number;
  /** Size of the page cache. */
  readonly cacheKilobytes?: number;
  /**
   * Maximum bytes of the file read through a memory mapping, which saves a copy of each page; none by default. If the disk
   * cannot read a mapped page, the process dies instead of a statement failing: use it only for a file that can be
   * rebuilt.
   */
  readonly mappedBytesMax?: number;
  /**
   * Called in both phases of every COMMIT of a group; tests use it to halt everything or to make the outcome unknown.
   * Anything it throws is treated as a failure of the COMMIT itself (D3), whatever had happened to the COMMIT by then.
   */
  readonly onCommit?: ((phase: CommitPhase) => void) | undefined;
}

/** An earlier write, identified by the promise that `write` returned for it, and the result that it must have. */
export interface After<T> {
  readonly write: Promise<T>;
  readonly holds: (result: T) => boolean;
}

interface QueuedWork {
  readonly run: (db: DatabaseSync) => unknown;
  readonly promise: Promise<unknown>;
  /**
   * The work's return value, within the open or the last committed transaction; absent before that and after a failure.
   */
  result?: { readonly value: unknown };
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The works of one COMMIT. */
type Group = readonly QueuedWork[];

/** What keeps in memory what its writes leave, and writes together what many works ask of it; one for each database. */
export interface Participant {
  /** A transaction of so many works has begun. */
  begun(works: number): void;
  /** A transaction has begun in which each work can be undone by itself (D2). */
  begunIsolated(): void;
  /** Called before a work that can be undone; the function that it returns undoes what it did here. */
  savepoint(): () => void;
  /** All works have run; called within the transaction. */
  ending(): void;
  /** The COMMIT has returned. */
  committed(): void;
  /** The transaction was rolled back, or nobody can know whether it was committed. */
  undone(isKnown: boolean): void;
  /** Whether anything is left for {@link bringAll}. */
  readonly hasWaiting: boolean;
  /** Brings what waits to where it belongs; called within a transaction. */
  bringAll(): void;
}

/** What reads need of a connection; statements are cached by their text. */
export type Reads = Pick<SqliteDatabase, "db" | "prepare">;

/** Number of free pages overwritten in one transaction, so that nobody waits long. */
const freePagesAtOnce = 1_000;

/** Thrown for a file that this release cannot use; the message names it and says what to do. */
export class StoreFileRefused extends Error {
  override readonly name = "StoreFileRefused";
}

export class SqliteDatabase implements AsyncDisposable {
  readonly db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  /** Works by their promise, until they are acknowledged or have failed. */
  readonly #works = new Map<Promise<unknown>, QueuedWork>();
  readonly #groupMax: number;
  readonly #log: LogDurability;
  readonly #onCommit: ((phase: CommitPhase) => void) | undefined;
  #queue: QueuedWork[] = [];
  #scheduled = false;
  /** The groups that the flush on another thread will acknowledge: those that were committed before it began. */
  #flushing: readonly Group[] | null = null;
  /** The groups that were committed since. */
  #unflushed: Group[] = [];
  #closed = false;
  #participant: Participant | null = null;

  private constructor(db: DatabaseSync, path: string, options: SqliteOptions) {
    this.db = db;
    this.#log = new LogDurability(db, path, options);
    this.#groupMax = options.groupMax ?? groupMaxDefault;
    this.#onCommit = options.onCommit;
  }

  /**
   * Opens or creates the store file at `path` (`:memory:` for no file). Throws {@link StoreFileRefused} if the file has a later version,
   * or is another program's.
   */
  static open(path: string, options: SqliteOptions = {}): SqliteDatabase {
    const db = new DatabaseSync(path, {
      enableForeignKeyConstraints: false,
      timeout: options.busyTimeoutMs ?? 5_000,
    });
    try {
      const read = (pragma: string) =>
        Number(Object.values(db.prepare(`PRAGMA ${pragma}`).get() ?? {})[0] ?? 0);
      const version = read("user_version");
      const isEmpty = db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined;
      if (!isEmpty && read("application_id") !== applicationId)
        throw new StoreFileRefused(`${path} is a database of another program: start with an empty folder`);
      if (version > fileVersion) {
        throw new StoreFileRefused(
          `${path} has version ${version}, and this release knows none above ${fileVersion}: start a newer one`,
        );
      }
      db.exec(`${logPragmas(path, options)} PRAGMA foreign_keys = OFF; PRAGMA temp_store = MEMORY; ${overwriteInPages};
        PRAGMA cache_size = -${options.cacheKilobytes ?? cacheKilobytesDefault};
        PRAGMA mmap_size = ${options.mappedBytesMax ?? 0};`);
      db.exec(`BEGIN IMMEDIATE;
        CREATE TABLE IF NOT EXISTS migration (name TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
        PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${fileVersion}; COMMIT;`);
    } catch (error) {
      db.close();
      throw error;
    }
    return new SqliteDatabase(db, path, options);
  }

  /**
   * Brings the tables of one adapter up to date: step i turns version i into i + 1, all missing steps in one transaction.
   * Steps are never edited once released; new ones are only added.
   */
  migrate(name: string, steps: readonly string[]): void {
    this.transact(() => {
      const row = this.db.prepare("SELECT version FROM migration WHERE name = ?").get(name);
      const version = Number(row?.["version"] ?? 0);
      if (version > steps.length) {
        throw new StoreError(
          "not_applied",
          `tables of ${name} have version ${version}, known are ${steps.length}`,
        );
      }
      for (const step of steps.slice(version)) this.db.exec(step);
      this.db
        .prepare("INSERT OR REPLACE INTO migration (name, version) VALUES (?, ?)")
        .run(name, steps.length);
    });
  }

  /** Lets `participant` take part in every transaction from now on. */
  join(participant: Participant): void {
    this.#participant = participant;
  }

  /** Counts a write as so many changed rows: its row is as large as they are. */
  countChanges(rows: number): void {
    this.#log.countChanges(rows);
  }

  /** Runs `work` at once in a transaction of its own, which nobody waits for: while the file is opened. */
  transact(work: () => void): void {
    this.db.exec("BEGIN IMMEDIATE");
    try {
      work();
      this.db.exec("COMMIT");
    } catch (error) {
      this.#rollback();
      throw error;
    }
  }

  /** A prepared statement, cached by its text. */
  prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.db.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  /**
   * Runs `work` in the next shared transaction and resolves to its return value once that is durable (D1). A work may be
   * run twice before it is committed, so it must change nothing but the database. Rejects with {@link StoreError}, or with
   * what the work itself threw.
   */
  write<T>(work: (db: DatabaseSync) => T): Promise<T> {
    if (this.#closed) return Promise.reject(new StoreError("not_applied", "the store is closed"));
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const queued: QueuedWork = { run: work, promise, resolve: resolve as (value: unknown) => void, reject };
    this.#works.set(promise, queued);
    this.#queue.push(queued);
    this.#schedule();
    return promise;
  }

  /**
   * Like `write`, for work that must not exist without an earlier write: it shares that write's transaction or goes into a
   * later one, and is refused with `not_applied` if the earlier write failed or its result is not acceptable.
   */
  writeAfter<T, E>(after: After<E>, work: (db: DatabaseSync) => T): Promise<T> {
    const earlier = this.#works.get(after.write);
    const refusal = (): StoreError => new StoreError("not_applied", "what it depends on was not applied");
    if (earlier === undefined) {
      return after.write.then(
        (result) => {
          if (!after.holds(result)) throw refusal();
          return this.write(work);
        },
        () => {
          throw refusal();
        },
      );
    }
    // Works run in the order in which they were submitted, so by then the earlier one has a result or has failed.
    return this.write((db) => {
      if (earlier.result === undefined || !after.holds(earlier.result.value as E)) throw refusal();
      return work(db);
    });
  }

  /**
   * Overwrites what deleted rows left in free pages and in the log; `secure_delete` sees to pages in use. Rejects with `not_applied`
   * while somebody still reads the log.
   */
  async overwriteUnused(): Promise<void> {
    await this.write(() => this.#participant?.bringAll());
    let left = freePagesAtOnce;
    while (left > 0) {
      left = await this.write((db) => overwriteFreePages(db, freePagesAtOnce));
    }
    await this.write((db) => db.exec("DROP TABLE IF EXISTS overwritten"));
    const outcome = this.db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    if (outcome?.["busy"] !== 0) throw new StoreError("not_applied", "the log is still being read");
  }

  /** Commits what is waiting and closes the file. */
  close(): void {
    if (this.#closed) return;
    // What is not brought, is found in the file by its next opener.
    if (this.#participant?.hasWaiting) this.write(() => this.#participant?.bringAll()).catch(() => {});
    this.#closed = true;
    this.#flushHere();
    while (this.#queue.length > 0) this.#runNext();
    this.#statements.clear();
    this.#log.close();
    this.db.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  readonly #runNext = (): void => {
    this.#scheduled = false;
    if (!this.#mayRun()) return;
    const waiting = this.#queue.length;
    const works = waiting < 2 * overlapMin ? waiting : Math.ceil(waiting / 2);
    this.#runGroup(this.#queue.splice(0, Math.min(works, this.#groupMax)));
    this.#schedule();
  };

  #schedule(): void {
    if (this.#scheduled || !this.#mayRun()) return;
    this.#scheduled = true;
    setImmediate(this.#runNext);
  }

  #mayRun(): boolean {
    return this.#queue.length >= (this.#flushing === null ? 1 : overlapMin);
  }

  #runGroup(group: Group): void {
    try {
      this.#log.beforeWrite();
      this.prepare("BEGIN IMMEDIATE").run();
    } catch (error) {
      this.#reject(group, storeError("not_applied", error));
      return;
    }
    try {
      this.#participant?.begun(group.length);
      for (const work of group) work.result = { value: work.run(this.db) };
    } catch {
      // Savepoints would cost every group; a second run costs only the group in which something failed (D2).
      this.#undo();
      for (const work of group) delete work.result;
      this.#runIsolated(group);
      return;
    }
    this.#commit(group);
  }

  #runIsolated(group: Group): void {
    const done: QueuedWork[] = [];
    try {
      this.prepare("BEGIN IMMEDIATE").run();
      this.#participant?.begunIsolated();
    } catch (error) {
      this.#undo();
      this.#reject(group, storeError("not_applied", error));
      return;
    }
    for (let i = 0; i < group.length; i += 1) {
      const work = group[i];
      if (work === undefined) continue;
      const undo = this.#participant?.savepoint();
      try {
        this.db.exec("SAVEPOINT work");
        const value = work.run(this.db);
        this.db.exec("RELEASE work");
        work.result = { value };
        done.push(work);
      } catch (error) {
        this.#works.delete(work.promise);
        work.reject(isSqliteError(error) ? storeError("not_applied", error) : error);
        // Some failures (a full disk, for example) end the whole transaction: the works that ran before are rolled back
        // too.
        if (!this.db.isTransaction) {
          this.#undo();
          this.#reject([...done, ...group.slice(i + 1)], storeError("not_applied", error));
          return;
        }
        this.db.exec("ROLLBACK TO work; RELEASE work");
        undo?.();
      }
    }
    this.#commit(done);
  }

  #commit(group: Group): void {
    try {
      this.#participant?.ending();
    } catch (error) {
      this.#undo();
      this.#reject(group, storeError("not_applied", error));
      return;
    }
    try {
      this.#onCommit?.("before");
      this.prepare("COMMIT").run();
      this.#participant?.committed();
      this.#log.committed(group.length);
    } catch (error) {
      const isKnown = isLockError(error);
      this.#undo(isKnown);
      // When a lock was not granted, nothing was written. After any other failure the commit mark may or may not have
      // reached the log, and if the process died now it would be read back: the outcome is unknowable (D3).
      this.#reject(group, storeError(isKnown ? "not_applied" : "unknown", error));
      return;
    }
    this.#unflushed.push(group);
    if (this.#closed) this.#flushHere();
    else if (this.#flushing === null) this.#flush();
  }

  /** Has the log flushed for the groups that are committed by now; those that are committed meanwhile need the next flush. */
  #flush(): void {
    if (!this.#log.isFlushedBeside) {
      this.#flushHere();
      return;
    }
    const groups = this.#takeUnflushed();
    this.#flushing = groups;
    this.#log.flushBeside((error) => {
      // Closing the file has already acknowledged them.
      if (this.#flushing !== groups) return;
      this.#flushing = null;
      if (error === null) this.#acknowledge(groups);
      else this.#reject([...groups, ...this.#takeUnflushed()].flat(), storeError("unknown", error));
      if (this.#unflushed.length > 0) this.#flush();
      this.#schedule();
    });
  }

  /** Flushes on this thread whatever is committed, including what is being flushed on another one. */
  #flushHere(): void {
    const groups = [...(this.#flushing ?? []), ...this.#takeUnflushed()];
    this.#flushing = null;
    if (groups.length === 0) return;
    try {
      this.#log.flushNow();
    } catch (error) {
      this.#reject(groups.flat(), storeError("unknown", error));
      return;
    }
    this.#acknowledge(groups);
  }

  #takeUnflushed(): readonly Group[] {
    const groups = this.#unflushed;
    this.#unflushed = [];
    return groups;
  }

  #acknowledge(groups: readonly Group[]): void {
    for (const group of groups) {
      try {
        this.#onCommit?.("after");
        this.#resolve(group);
      } catch (error) {
        this.#reject(group, storeError("unknown", error));
      }
    }
  }

  #resolve(group: Group): void {
    for (const work of group) {
      this.#works.delete(work.promise);
      work.resolve(work.result?.value);
    }
  }

  #reject(group: Group, error: StoreError): void {
    for (const work of group) {
      delete work.result;
      this.#works.delete(work.promise);
      work.reject(error);
    }
  }

  #undo(isKnown = true): void {
    this.#rollback();
    this.#participant?.undone(isKnown);
  }

  #rollback(): void {
    if (!this.db.isTransaction) return;
    try {
      this.db.exec("ROLLBACK");
    } catch {
      // SQLite had already ended the transaction; there is nothing left to roll back.
    }
  }
}

/** Takes free pages, of which SQLite writes every byte; returns the number of those that are left. */
function overwriteFreePages(db: DatabaseSync, atOnce: number): number {
  const pragma = (name: string): number => Number(Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
  const free = pragma("freelist_count");
  if (free === 0) return 0;
  db.exec("CREATE TABLE IF NOT EXISTS overwritten (zeros BLOB NOT NULL)");
  const bytes = Math.min(free, atOnce) * pragma("page_size");
  db.prepare("INSERT INTO overwritten VALUES (zeroblob(?))").run(bytes);
  return pragma("freelist_count");
}

// What is removed must not remain in the file: the bytes of purged records, and who asked for what.

/**
 * What every connection overwrites with zeros: what it frees within pages that it writes anyway. Free pages are left to those who ask
 * for more.
 */
const overwriteInPages = "PRAGMA secure_delete = FAST";

/**
 * Runs `work`, within its transaction, so that SQLite overwrites what is freed with zeros: what it removes, and also what it
 * moves to another page when it writes. Small rows that are to disappear must therefore be written in this way as well:
 * otherwise copies of them stay in the unused parts of pages.
 */
export function overwritingFreed<T>(db: DatabaseSync, work: () => T): T {
  db.exec("PRAGMA secure_delete = ON");
  try {
    return work();
  } finally {
    db.exec(overwriteInPages);
  }
}

// Translates SQLite failures into the errors of the store ports.

/** SQLite result codes (sqlite.org/rescode.html), primary part. */
const sqliteBusy = 5;
const sqliteLocked = 6;
const sqliteCorrupt = 11;
const sqliteNotADatabase = 26;

function storeError(effect: StoreError["effect"], cause: unknown): StoreError {
  return new StoreError(effect, cause instanceof Error ? cause.message : String(cause), { cause });
}

function isSqliteError(error: unknown): error is Error & { readonly errcode: number } {
  return error instanceof Error && "errcode" in error && typeof error.errcode === "number";
}

/** Whether it says, itself or by its cause, that the bytes of a file are damaged. */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const primary = isSqliteError(error) ? error.errcode & 0xff : 0;
  return primary === sqliteCorrupt || primary === sqliteNotADatabase || isDamage(error.cause);
}

/** Whether a lock was not granted: nothing was written then. */
function isLockError(error: unknown): boolean {
  if (!isSqliteError(error)) return false;
  const primary = error.errcode & 0xff;
  return primary === sqliteBusy || primary === sqliteLocked;
}
