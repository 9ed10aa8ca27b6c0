// Searches of the rows in SQLite, over a connection that only reads: the port's obligations X3 to X6 and X8, and these of the engine:
//   I1. Whichever plan a search uses, it checks every condition; the plan decides what is read, not what is found.
//   I3. Each search is one transaction: it sees one state of the file, whatever is committed meanwhile.
//   I4. A state of the file may contain commits whose notes (row-terms.ts) are still on their way: rows proposed from memory are
//       then checked against a newer state. A row removed there is not found, a new row is found once its note has arrived, and
//       for a changed row only the rank may be outdated.

import { DatabaseSync, type StatementSync } from "node:sqlite";
import { distanceKm } from "../../collections/geo-distance.ts";
import { BoundedMap } from "../../std/bounded-map.ts";
import type { RowHit, RowQuery } from "../row-index.ts";
import { numberOf, numberOrNull, type Row, textOf } from "./columns.ts";
import type { Reads } from "./database.ts";
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
import { parsePoints, RowStatistics } from "./row-writer.ts";

/** A walk is abandoned once it has read this many times the expected rows, and at least the second number of rows. */
const walkRowsFactor = 4;
const walkRowsMin = 1_000;
/** Maximum number of cached prepared searches; each shape of query has one. */
const statementsMax = 256;
/** Maximum rows with the wanted keys that are looked up before the text is searched. */
const amongRowsMax = 5_000;
/** A search reads hundreds of the file's pages, and the file can be rebuilt from the records. */
const mappedBytesMax = 1024 * 1024 * 1024;
/** Of pages that are not mapped: those of the log. */
const cacheKilobytes = 8_192;
const busyTimeoutMs = 5_000;

/** The rows of a JSON array of row numbers, with their places in it. */
const selectPlaces =
  "SELECT j.key AS place, e.record_id, e.business_uuid, e.generation, e.row FROM json_each(?) j CROSS JOIN row_entry e ON e.rid = j.value";

export class RowReader {
  readonly #reads: Reads;
  readonly #statistics: RowStatistics;
  readonly #statements = new BoundedMap<string, StatementSync>(statementsMax);
  /** By collection, created by the first search with a text. */
  readonly #terms = new Map<string, CollectionTerms>();

  /** Reads the file at `path`, whose tables exist (row-index.ts). */
  constructor(path: string) {
    const db = new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs });
    db.exec(`PRAGMA temp_store = MEMORY; PRAGMA cache_size = -${cacheKilobytes};
      PRAGMA mmap_size = ${mappedBytesMax};`);
    provideNear(db);
    this.#reads = { db, prepare: (sql) => this.#prepare(sql) };
    this.#statistics = new RowStatistics(this.#reads);
  }

  search(query: RowQuery): readonly RowHit[] {
    this.#prepare("BEGIN").get();
    try {
      return this.#search(query);
    } finally {
      if (this.#reads.db.isTransaction) this.#prepare("COMMIT").get();
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

  /** Number of rows of a collection that a search could return. */
  count(collection: string): number {
    const { row } = layoutOf(collection);
    const found = this.#prepare(`SELECT count(*) AS n FROM ${row} WHERE countries <> ''`).get();
    return numberOf(found?.["n"]);
  }

  /** Statistics are counted again after enough changes. */
  noteChanges(collection: string, count: number): void {
    this.#statistics.noteChanges(collection, count);
  }

  /** What was committed, in the order of the commits (row-terms.ts, P2). */
  note(notes: readonly RowNote[]): void {
    for (const note of notes) this.#terms.get(note.collection)?.note(note);
  }

  /** Nothing that is in memory about texts is believed any more. */
  forgetTexts(): void {
    this.#terms.clear();
  }

  close(): void {
    this.#statements.clear();
    this.#reads.db.close();
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
      terms = new CollectionTerms(this.#reads, layout);
      this.#terms.set(layout.collection, terms);
    }
    const search = {
      layout,
      terms,
      among: this.#among(layout, query),
      prepare: (sql: string) => this.#prepare(sql),
    };
    const rids = searchText(search, query);
    // Sorted here: SQLite would copy every row into a table of its own to sort it.
    return this.#prepare(selectPlaces)
      .all(JSON.stringify(rids))
      .sort((a, b) => numberOf(a["place"]) - numberOf(b["place"]))
      .map(hitOf);
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
      .map(hitOf);
  }

  #prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#reads.db.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

function hitOf(found: Row): RowHit {
  return {
    record_id: textOf(found["record_id"]),
    business_uuid: textOf(found["business_uuid"]),
    generation: numberOf(found["generation"]),
    row: textOf(found["row"]),
  };
}

/** Gives a connection the function that measures distances. */
export function provideNear(db: DatabaseSync): void {
  db.function(nearFunction, { deterministic: true }, isNear);
}

/** `near`: at least one of the points is within the radius. */
function isNear(points: unknown, lat: unknown, lng: unknown, radiusKm: unknown): number {
  if (typeof points !== "string") return 0;
  const center = { lat: Number(lat), lng: Number(lng) };
  return parsePoints(points).some((point) => distanceKm(point, center) <= Number(radiusKm)) ? 1 : 0;
}
