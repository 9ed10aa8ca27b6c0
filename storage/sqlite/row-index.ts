// The searchable rows in SQLite: the port's obligations X1–X4 and X6, and these of the engine:
//   I1. Whichever plan a search uses, it checks every condition; the plan decides what is read, not what is found.
//   I2. The rows are the source of truth (`row_entry`); what is derived from them is rebuilt when its layout changes.
//   I3. A dedicated thread writes (row-thread.ts). The connection here only reads, each search in one transaction: it sees
//       one state of the file, whatever is committed meanwhile.
//   I4. An apply is acknowledged once it is committed and noted here (row-terms.ts), so X4 holds. A state of the file may
//       contain commits whose notes are still on their way: rows proposed from memory are then checked against a newer
//       state. A row removed there is not found, a new row is found once its apply is acknowledged, and for a changed row
//       only the rank may be outdated.
//   I5. After a failed apply it is unknown what was committed: what is kept in memory about the texts is reloaded.

import type { StatementSync } from "node:sqlite";
import { distanceKm } from "../../collections/geo-distance.ts";
import { type CollectionName, collectionNames } from "../../protocol/identifiers.ts";
import { BoundedMap } from "../../std/bounded-map.ts";
import { StoreError } from "../actor-store.ts";
import type { RowChange, RowHit, RowIndex, RowQuery } from "../row-index.ts";
import { numberOf, numberOrNull, textOf } from "./columns.ts";
import { type CommitPhase, SqliteDatabase, type SqliteOptions } from "./database.ts";
import { type CollectionLayout, layoutOf } from "./row-layout.ts";
import {
  keysPlan,
  nearFunction,
  planQuery,
  rangePlans,
  recordsPlan,
  type Sql,
  selectSql,
  type WalkPlan,
  walkSql,
} from "./row-select.ts";
import { CollectionTerms, type RowNote } from "./row-terms.ts";
import { searchText } from "./row-text-search.ts";
import { RowThread, type StartRowThread, type ThreadApplied } from "./row-thread.ts";
import { parsePoints, RowStatistics, RowWriter } from "./row-writer.ts";

/** A walk is abandoned once it has read this many times the expected rows, and at least the second number of rows. */
const walkRowsFactor = 4;
const walkRowsMin = 1_000;
/** Maximum number of cached prepared searches; each shape of query has one. */
const statementsMax = 256;
/** Maximum rows with the wanted keys that are looked up before the text is searched. */
const amongRowsMax = 5_000;
/** A search reads hundreds of the file's pages, and the file can be rebuilt from the records. */
const mappedBytesMax = 1024 * 1024 * 1024;

export class SqliteRowIndex implements RowIndex, AsyncDisposable {
  readonly #database: SqliteDatabase;
  readonly #thread: RowThread;
  readonly #onCommit: SqliteOptions["onCommit"];
  readonly #statistics: RowStatistics;
  readonly #searches = new BoundedMap<string, StatementSync>(statementsMax);
  /** By collection, created by the first search with a text. */
  readonly #terms = new Map<string, CollectionTerms>();

  /**
   * Opens the index in the file at `path`, to which nobody else writes. `onCommit` is called for every apply before it is
   * passed to the thread and once it is committed.
   */
  constructor(path: string, { onCommit, ...options }: SqliteOptions = {}, start?: StartRowThread) {
    this.#database = SqliteDatabase.open(path, { mappedBytesMax, ...options });
    prepareRowTables(this.#database);
    this.#database.db.exec("PRAGMA query_only = ON");
    this.#statistics = new RowStatistics(this.#database);
    this.#thread = new RowThread({ path, options }, start);
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
      this.#terms.clear();
      throw error;
    }
    for (const change of changes) this.#statistics.noteChanges(change.collection, 1);
    if (changes.some((change) => this.#terms.has(change.collection))) {
      const notes = JSON.parse(applied.notes) as readonly RowNote[];
      for (const note of notes) this.#terms.get(note.collection)?.note(note);
    }
    const stale = new Set(applied.stale);
    return changes.map((_, place) => (stale.has(place) ? "stale" : "applied"));
  }

  async search(query: RowQuery): Promise<readonly RowHit[]> {
    this.#database.prepare("BEGIN").get();
    try {
      return this.#search(query);
    } finally {
      if (this.#database.db.isTransaction) this.#database.prepare("COMMIT").get();
    }
  }

  #search(query: RowQuery): readonly RowHit[] {
    const layout = layoutOf(query.collection);
    if (query.text !== undefined) return this.#searchText(layout, query);
    const plans = planQuery(layout, query, this.#statistics);
    const [first, ...others] = plans;
    if (first === undefined) throw new Error("Every query can be answered in some way");
    if (first.way !== "walk") return this.#select(selectSql(layout, query, first));
    const hits = this.#walk(query, first);
    if (hits !== null) return hits;
    const [next = first] = [...others, ...rangePlans(layout, query, this.#statistics)].sort(
      (a, b) => a.rows - b.rows,
    );
    return this.#select(selectSql(layout, query, next));
  }

  async isFindable(collection: string, recordId: string): Promise<boolean> {
    const { row } = layoutOf(collection);
    const text = `SELECT 1 FROM row_entry e JOIN ${row} r ON r.rid = e.rid
      WHERE e.record_id = ? AND e.collection = ? AND r.countries <> ''`;
    return this.#prepare(text).get(recordId, collection) !== undefined;
  }

  async purge(collections: readonly CollectionName[]): Promise<void> {
    await this.#thread.purge(collections);
  }

  async count(collection: string): Promise<number> {
    const { row } = layoutOf(collection);
    const found = this.#database.prepare(`SELECT count(*) AS n FROM ${row} WHERE countries <> ''`).get();
    return numberOf(found?.["n"]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  /** Commits what is under way and closes the file. */
  close(): void {
    // Being the last connection, the one here then copies and removes the log.
    this.#thread.close();
    this.#searches.clear();
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

  /** Null if the walk was abandoned: the part of the order that it read was not enough, and there is more. */
  #walk(query: RowQuery, plan: WalkPlan): readonly RowHit[] | null {
    const layout = layoutOf(query.collection);
    const rowsMax = Math.round(Math.max(walkRowsMin, plan.rows * walkRowsFactor));
    const { text, params } = walkSql(layout, query, plan.field);
    const last = this.#prepare(text).get(...params, 1, rowsMax);
    // The whole walk is short enough.
    if (last === undefined) return this.#select(selectSql(layout, query, plan));
    const until = numberOrNull(last["value"]);
    const hits = this.#select(selectSql(layout, query, plan, { until }));
    return hits.length === query.limit ? hits : null;
  }

  #searchText(layout: CollectionLayout, query: RowQuery): readonly RowHit[] {
    let terms = this.#terms.get(layout.collection);
    if (terms === undefined) {
      terms = new CollectionTerms(this.#database, layout);
      this.#terms.set(layout.collection, terms);
    }
    const search = {
      layout,
      terms,
      among: this.#among(layout, query),
      prepare: (sql: string) => this.#prepare(sql),
    };
    const rids = searchText(search, query);
    const text =
      "SELECT e.record_id, e.business_uuid, e.row FROM json_each(?) j CROSS JOIN row_entry e ON e.rid = j.value ORDER BY j.key";
    return this.#select({ text, params: [JSON.stringify(rids)] });
  }

  /** The rows of the named records, or those that have the wanted keys, if looking so few up first is worthwhile. */
  #among(layout: CollectionLayout, query: RowQuery): ReadonlySet<number> | null {
    const [fewest] = [recordsPlan(query), keysPlan(layout, query, this.#statistics)]
      .filter((plan) => plan !== null)
      .sort((a, b) => a.rows - b.rows);
    if (fewest === undefined || fewest.rows > amongRowsMax) return null;
    const [text, param] =
      fewest.way === "keys"
        ? [`SELECT rowid AS rid FROM ${layout.key} WHERE ${layout.key} MATCH ?`, fewest.expression]
        : [
            "SELECT rid FROM row_entry WHERE record_id IN (SELECT value FROM json_each(?))",
            JSON.stringify(fewest.records),
          ];
    return new Set(
      this.#prepare(text)
        .all(param)
        .map((row) => numberOf(row["rid"])),
    );
  }

  #select({ text, params }: Sql): readonly RowHit[] {
    return this.#prepare(text)
      .all(...params)
      .map((found) => ({
        record_id: textOf(found["record_id"]),
        business_uuid: textOf(found["business_uuid"]),
        row: textOf(found["row"]),
      }));
  }

  #prepare(sql: string): StatementSync {
    const known = this.#searches.get(sql);
    if (known !== undefined) return known;
    const statement = this.#database.db.prepare(sql);
    this.#searches.set(sql, statement);
    return statement;
  }
}

// The tables of the row index in a database: creates them, migrates them, and derives them again when their layout has
// changed.

const migrations = [
  `CREATE TABLE row_entry (
     rid INTEGER PRIMARY KEY, record_id TEXT NOT NULL UNIQUE, collection TEXT NOT NULL, business_uuid TEXT NOT NULL,
     change INTEGER NOT NULL, row TEXT);
   CREATE TABLE row_layout (collection TEXT PRIMARY KEY, created TEXT NOT NULL) WITHOUT ROWID;
   CREATE TABLE row_touch (one INTEGER PRIMARY KEY);`,
];

/** Rows derived in one transaction after a layout change. */
const rebuildChunk = 1_000;

/** Prepares the database for searches, while nobody else writes to it. Returns when everything has been derived. */
export function prepareRowTables(database: SqliteDatabase): void {
  database.migrate("row-index", migrations);
  database.db.function(nearFunction, { deterministic: true }, isNear);
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

/** `near`: at least one of the points is within the radius. */
function isNear(points: unknown, lat: unknown, lng: unknown, radiusKm: unknown): number {
  if (typeof points !== "string") return 0;
  const center = { lat: Number(lat), lng: Number(lng) };
  return parsePoints(points).some((point) => distanceKm(point, center) <= Number(radiusKm)) ? 1 : 0;
}
