// The searchable rows in SQLite: the port's obligations X1–X4, and of this engine:
//   I1. Whatever way a search takes, it checks every condition; the way decides what is read, not what is found.
//   I2. The rows are the truth (`row_entry`); what is derived from them is made again when its layout changes.

import type { StatementSync } from "node:sqlite";
import { distanceKm } from "../../collections/geo-distance.ts";
import { indexDocument } from "../../collections/index-document.ts";
import type { JsonObject } from "../../protocol/canonical-json.ts";
import { collectionNames } from "../../protocol/identifiers.ts";
import type { RowChange, RowHit, RowIndex, RowQuery } from "../row-index.ts";
import { numberOf, numberOrNull, textOf } from "./columns.ts";
import { SqliteDatabase, type SqliteOptions } from "./database.ts";
import { nearFunction, type Sql } from "./row-conditions.ts";
import { type CollectionLayout, layoutOf } from "./row-layout.ts";
import { allLinesOf } from "./row-lines.ts";
import { keysPlan, planQuery, rangePlans, type WalkPlan } from "./row-plan.ts";
import { selectSql, walkSql } from "./row-select.ts";
import { RowStatistics } from "./row-statistics.ts";
import { CollectionTerms } from "./row-terms.ts";
import { searchText } from "./row-text-search.ts";
import { type Applied, parsePoints, RowWriter } from "./row-writer.ts";

const migrations = [
  `CREATE TABLE row_entry (
     rid INTEGER PRIMARY KEY, record_id TEXT NOT NULL UNIQUE, collection TEXT NOT NULL, business_uuid TEXT NOT NULL,
     change INTEGER NOT NULL, row TEXT);
   CREATE TABLE row_layout (collection TEXT PRIMARY KEY, created TEXT NOT NULL) WITHOUT ROWID;
   CREATE TABLE row_touch (one INTEGER PRIMARY KEY);`,
];

/** A walk is given up when it read this many times the rows that it was expected to, and at least the second. */
const walkRowsFactor = 4;
const walkRowsMin = 1_000;
/** Prepared searches kept; each shape of query is one. */
const statementsMax = 256;
/** Rows with the wanted keys that are looked up before the text is. */
const amongRowsMax = 5_000;
/** Of a file of its own: a search reads hundreds of its pages, and it is made again from the records. */
export const mappedBytesMax = 1024 * 1024 * 1024;
/** Rows derived in one transaction when a layout changed. */
const rebuildChunk = 1_000;

export class SqliteRowIndex implements RowIndex, AsyncDisposable {
  readonly #database: SqliteDatabase;
  readonly #ownsDatabase: boolean;
  readonly #writer: RowWriter;
  readonly #statistics: RowStatistics;
  readonly #searches = new Map<string, StatementSync>();
  /** By collection, once a search asked for relevance. */
  readonly #terms = new Map<string, CollectionTerms>();

  /** Opens the index in `store`: a database shared with other stores, or the path of a file of its own. */
  constructor(store: SqliteDatabase | string, options: SqliteOptions = {}) {
    this.#ownsDatabase = typeof store === "string";
    this.#database =
      typeof store === "string" ? SqliteDatabase.open(store, { mappedBytesMax, ...options }) : store;
    this.#database.migrate("row-index", migrations);
    this.#database.db.function(nearFunction, { deterministic: true }, isNear);
    const stale = collectionNames.filter((name) => this.#prepareLayout(name));
    this.#writer = new RowWriter(this.#database);
    this.#statistics = new RowStatistics(this.#database);
    for (const name of stale) this.#rebuild(name);
  }

  async apply(changes: readonly RowChange[]): Promise<readonly ("applied" | "stale")[]> {
    if (changes.length === 0) return [];
    let applied: Applied;
    try {
      applied = await this.#database.write(() => this.#writer.applyAll(changes));
    } catch (error) {
      // What was committed may not be known: what is remembered of the texts is read again.
      this.#terms.clear();
      throw error;
    }
    for (const change of changes) this.#statistics.noteChanges(change.collection, 1);
    for (const note of applied.notes) this.#terms.get(note.collection)?.note(note);
    return applied.outcomes;
  }

  async search(query: RowQuery): Promise<readonly RowHit[]> {
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

  async count(collection: string): Promise<number> {
    const { row } = layoutOf(collection);
    const found = this.#database.prepare(`SELECT count(*) AS n FROM ${row} WHERE countries <> ''`).get();
    return numberOf(found?.["n"]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  /** Closes the file, if it is the index's own. */
  close(): void {
    this.#searches.clear();
    if (this.#ownsDatabase) this.#database.close();
  }

  /** Null when the walk was given up: what it read of the order was not enough, and there is more. */
  #walk(query: RowQuery, plan: WalkPlan): readonly RowHit[] | null {
    const layout = layoutOf(query.collection);
    const rowsMax = Math.round(Math.max(walkRowsMin, plan.rows * walkRowsFactor));
    const { text, params } = walkSql(layout, query, plan.field);
    const [last] = allLinesOf(this.#prepare(text), ...params, 1, rowsMax);
    // The whole walk is short enough.
    if (last === undefined) return this.#select(selectSql(layout, query, plan));
    const until = numberOrNull(last[1]);
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
      among: this.#amongKeys(layout, query),
      prepare: (sql: string) => this.#prepare(sql),
    };
    const rids = searchText(search, query);
    const text =
      "SELECT e.record_id, e.business_uuid, e.row FROM json_each(?) j CROSS JOIN row_entry e ON e.rid = j.value ORDER BY j.key";
    return this.#select({ text, params: [JSON.stringify(rids)] });
  }

  /** The rows that have the wanted keys, where they are so few that asking for them first is worth it. */
  #amongKeys(layout: CollectionLayout, query: RowQuery): ReadonlySet<number> | null {
    const keys = keysPlan(layout, query, this.#statistics);
    if (keys === null || keys.rows > amongRowsMax) return null;
    const text = `SELECT rowid AS rid FROM ${layout.key} WHERE ${layout.key} MATCH ?`;
    return new Set(
      this.#prepare(text)
        .all(keys.expression)
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
    if (known !== undefined) {
      // Used again, so the last to be forgotten.
      this.#searches.delete(sql);
      this.#searches.set(sql, known);
      return known;
    }
    const statement = this.#database.db.prepare(sql);
    this.#searches.set(sql, statement);
    const [oldest] = this.#searches.keys();
    if (this.#searches.size > statementsMax && oldest !== undefined) this.#searches.delete(oldest);
    return statement;
  }

  /** Makes the derived tables of a collection if theirs is another layout; true when rows must be derived again. */
  #prepareLayout(collection: string): boolean {
    const { create, drop } = layoutOf(collection);
    const db = this.#database.db;
    const known = db.prepare("SELECT created FROM row_layout WHERE collection = ?").get(collection);
    if (known?.["created"] === create) return false;
    db.exec("BEGIN IMMEDIATE");
    try {
      db.exec(drop);
      db.exec(create);
      // Recorded only when the rows are derived: a rebuild that was cut short begins again.
      db.prepare("DELETE FROM row_layout WHERE collection = ?").run(collection);
      db.exec("COMMIT");
    } catch (error) {
      db.exec("ROLLBACK");
      throw error;
    }
    return true;
  }

  #rebuild(collection: (typeof collectionNames)[number]): void {
    const db = this.#database.db;
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
        const document = indexDocument(collection, JSON.parse(textOf(row["row"])) as JsonObject);
        const put = {
          record_id: textOf(row["record_id"]),
          business_uuid: textOf(row["business_uuid"]),
          document,
        };
        this.#writer.putDerived(layout, last, put, false);
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
}

/** `near`: one of the points is within the radius. */
function isNear(points: unknown, lat: unknown, lng: unknown, radiusKm: unknown): number {
  if (typeof points !== "string") return 0;
  const center = { lat: Number(lat), lng: Number(lng) };
  return parsePoints(points).some((point) => distanceKm(point, center) <= Number(radiusKm)) ? 1 : 0;
}
