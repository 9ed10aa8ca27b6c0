// The searchable rows in SQLite: the port's obligations X1–X4 and X6, and these of the engine:
//   I2. The rows are the source of truth (`row_entry`); what is derived from them is rebuilt when its layout changes.
//   I3. A dedicated thread writes (row-thread.ts), and others search (row-read-threads.ts; I1 and I4 are in row-reader.ts). The
//       connection here looks single rows up, and is the last one to be closed.
//   I5. After a failed apply it is unknown what was committed: what is kept in memory about the texts is reloaded.
//   I7. An apply is acknowledged once it is committed and the threads that search are told: so X4 holds.

import { type CollectionName, collectionNames } from "../../protocol/identifiers.ts";
import { StoreError } from "../actor-store.ts";
import type { RowChange, RowHit, RowIndex, RowQuery } from "../row-index.ts";
import { numberOf, textOf } from "./columns.ts";
import { type CommitPhase, SqliteDatabase, type SqliteOptions } from "./database.ts";
import { layoutOf } from "./row-layout.ts";
import { RowReadThreads, type StartRowReadThread } from "./row-read-threads.ts";
import { RowThread, type StartRowThread, type ThreadApplied } from "./row-thread.ts";
import { RowWriter } from "./row-writer.ts";

/** How threads are started, and how many of them search, instead of as usual. */
export interface RowIndexThreads {
  readonly writing?: StartRowThread;
  readonly searching?: StartRowReadThread;
  readonly searches?: number;
}

export class SqliteRowIndex implements RowIndex, AsyncDisposable {
  readonly #database: SqliteDatabase;
  readonly #thread: RowThread;
  readonly #onCommit: SqliteOptions["onCommit"];
  readonly #readers: RowReadThreads;

  /**
   * Opens the index in the file at `path`, to which nobody else writes. `onCommit` is called for every apply before it is
   * passed to the thread and once it is committed.
   */
  constructor(path: string, { onCommit, ...options }: SqliteOptions = {}, threads: RowIndexThreads = {}) {
    this.#database = SqliteDatabase.open(path, options);
    prepareRowTables(this.#database);
    this.#database.db.exec("PRAGMA query_only = ON");
    this.#thread = new RowThread({ path, options }, threads.writing);
    this.#readers = new RowReadThreads(path, threads.searching, threads.searches);
    this.#onCommit = onCommit;
  }

  async apply(changes: readonly RowChange[]): Promise<readonly ("applied" | "stale")[]> {
    if (changes.length === 0) return [];
    let applied: ThreadApplied;
    try {
      this.#tell("before");
      applied = await this.#thread.apply(changes);
      this.#tell("after");
    } catch (error) {
      this.#readers.forgetTexts();
      throw error;
    }
    this.#readers.applied(changes, applied.notes);
    const stale = new Set(applied.stale);
    return changes.map((_, place) => (stale.has(place) ? "stale" : "applied"));
  }

  search(query: RowQuery): Promise<readonly RowHit[]> {
    return this.#readers.search(query);
  }

  async isFindable(collection: string, recordId: string): Promise<boolean> {
    const { row } = layoutOf(collection);
    const text = `SELECT 1 FROM row_entry e JOIN ${row} r ON r.rid = e.rid
      WHERE e.record_id = ? AND e.collection = ? AND r.countries <> ''`;
    return this.#database.prepare(text).get(recordId, collection) !== undefined;
  }

  async purge(collections: readonly CollectionName[]): Promise<void> {
    await this.#thread.purge(collections);
  }

  count(collection: string): Promise<number> {
    return this.#readers.count(collection);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  /** Ends what is under way and closes the file. */
  close(): void {
    this.#readers.close();
    // Being the last connection, the one here then copies and removes the log.
    this.#thread.close();
    this.#database.close();
  }

  /** Anything thrown is treated as a failure of the COMMIT (database.ts, D3). */
  #tell(phase: CommitPhase): void {
    try {
      this.#onCommit?.(phase);
    } catch (error) {
      throw new StoreError("unknown", String(error), { cause: error });
    }
  }
}

// The tables of the row index in a database: creates them, migrates them, and derives them again when their layout has
// changed.

const migrations = [
  `CREATE TABLE row_entry (
     rid INTEGER PRIMARY KEY, record_id TEXT NOT NULL UNIQUE, collection TEXT NOT NULL, business_uuid TEXT NOT NULL,
     generation INTEGER NOT NULL, change INTEGER NOT NULL, row TEXT);
   CREATE TABLE row_layout (collection TEXT PRIMARY KEY, created TEXT NOT NULL) WITHOUT ROWID;
   CREATE TABLE row_touch (one INTEGER PRIMARY KEY);`,
];

/** Rows derived in one transaction after a layout change. */
const rebuildChunk = 1_000;

/** Prepares the database for searches, while nobody else writes to it. Returns when everything has been derived. */
export function prepareRowTables(database: SqliteDatabase): void {
  database.migrate("row-index", migrations);
  const stale = collectionNames.filter((name) => prepareLayout(database, name));
  if (stale.length === 0) return;
  const writer = new RowWriter(database);
  for (const name of stale) derive(database, writer, name);
}

/**
 * Creates the derived tables of a collection if the existing ones have another layout; true if rows must be derived again.
 */
function prepareLayout({ db }: SqliteDatabase, collection: CollectionName): boolean {
  const { create, drop } = layoutOf(collection);
  const known = db.prepare("SELECT created FROM row_layout WHERE collection = ?").get(collection);
  if (known?.["created"] === create) return false;
  db.exec("BEGIN IMMEDIATE");
  try {
    db.exec(drop);
    db.exec(create);
    // Recorded only once the rows are derived: if that is interrupted, it starts over.
    db.prepare("DELETE FROM row_layout WHERE collection = ?").run(collection);
    db.exec("COMMIT");
  } catch (error) {
    db.exec("ROLLBACK");
    throw error;
  }
  return true;
}

function derive({ db }: SqliteDatabase, writer: RowWriter, collection: CollectionName): void {
  const layout = layoutOf(collection);
  const read = db.prepare(
    "SELECT rid, record_id, business_uuid, row FROM row_entry WHERE collection = ? AND row IS NOT NULL AND rid > ? ORDER BY rid LIMIT ?",
  );
  let last = 0;
  for (;;) {
    const rows = read.all(collection, last, rebuildChunk);
    db.exec("BEGIN IMMEDIATE");
    for (const row of rows) {
      last = numberOf(row["rid"]);
      const put = {
        record_id: textOf(row["record_id"]),
        business_uuid: textOf(row["business_uuid"]),
        row: textOf(row["row"]),
      };
      writer.putDerived(layout, last, put, false);
    }
    if (rows.length < rebuildChunk) {
      db.prepare("INSERT OR REPLACE INTO row_layout (collection, created) VALUES (?, ?)").run(
        collection,
        layout.create,
      );
    }
    db.exec("COMMIT");
    if (rows.length < rebuildChunk) return;
  }
}
