// Applies row changes. Everything in one `apply` is one transaction (database.ts, D1). A deletion in a contentless FTS5
// table leaves a number of its own, past 2^53, as the connection's last inserted rowid. `run` would fail on it, here and
// in any later use of the connection. So statements here are run with `get`, and a transaction that deleted something ends
// with an ordinary insertion.

import type { StatementSync } from "node:sqlite";
import { earthRadiusKm, radians } from "../../collections/geo-distance.ts";
import { rowDocument } from "../../collections/row-change.ts";
import { isSpelling } from "../../collections/text-analysis.ts";
import { BoundedMap } from "../../std/bounded-map.ts";
import type { GeoPoint, IndexDocument, IndexValue, RowChange } from "../row-index.ts";
import { numberOf, type Row, textOf } from "./columns.ts";
import type { Reads, SqliteDatabase } from "./database.ts";
import { type CollectionLayout, encodeValues, type FieldColumn, layoutOf } from "./row-layout.ts";
import type { RememberedRow, RowNote } from "./row-terms.ts";

/** Bound parameters; SQLite has no booleans. */
export type Bindable = string | number | null;

type Put = Extract<RowChange, { readonly kind: "put" }>;

/** Spellings that are remembered within a transaction, so that most need no statement. */
const spellingsKnownMax = 50_000;

interface Statements {
  readonly readRow: StatementSync;
  readonly compare: StatementSync;
  readonly putRow: StatementSync;
  readonly dropRow: StatementSync;
  readonly putWords: StatementSync;
  readonly dropWords: StatementSync;
  readonly putListing: StatementSync;
  /** Of each column: changes it where it is another. */
  readonly setListing: readonly StatementSync[];
  readonly dropListing: StatementSync;
  readonly putText: StatementSync;
  readonly dropText: StatementSync;
  readonly putSpelling: StatementSync;
  readonly putKeys: StatementSync;
  readonly dropKeys: StatementSync;
}

export interface Applied {
  readonly outcomes: readonly ("applied" | "stale")[];
  /** What changed in the data kept in memory about rows, to be noted once it is committed. */
  readonly notes: readonly RowNote[];
}

export class RowWriter {
  readonly #database: SqliteDatabase;
  readonly #readEntry: StatementSync;
  readonly #insertEntry: StatementSync;
  readonly #updateEntry: StatementSync;
  readonly #touch: StatementSync;
  #hasDeleted = false;
  #notes: RowNote[] = [];
  /** Spellings put in this transaction, by collection. */
  #spellings = new Map<string, Set<string>>();
  readonly #statements = new Map<string, Statements>();

  constructor(database: SqliteDatabase) {
    this.#database = database;
    this.#readEntry = database.prepare(
      "SELECT rid, change, row IS NOT NULL AS live FROM row_entry WHERE record_id = ?",
    );
    this.#insertEntry = database.prepare(
      "INSERT INTO row_entry (record_id, collection, business_uuid, generation, change, row) VALUES (?, ?, ?, ?, ?, ?)",
    );
    this.#touch = database.prepare("INSERT OR REPLACE INTO row_touch (one) VALUES (1)");
    this.#updateEntry = database.prepare(
      "UPDATE row_entry SET business_uuid = ?, generation = ?, change = ?, row = ? WHERE rid = ?",
    );
  }

  /** Applies the changes in order, within a transaction. */
  applyAll(changes: readonly RowChange[]): Applied {
    this.#notes = [];
    this.#spellings.clear();
    const outcomes = changes.map((change) => this.#apply(change));
    if (this.#hasDeleted) this.#touch.get();
    this.#hasDeleted = false;
    return { outcomes, notes: this.#notes };
  }

  /** X1: a change that is not newer than the known one changes nothing. */
  #apply(change: RowChange): "applied" | "stale" {
    const entry = this.#readEntry.get(change.record_id);
    if (entry !== undefined && change.change <= numberOf(entry["change"])) return "stale";
    const layout = layoutOf(change.collection);
    const isPut = change.kind === "put";
    const [business, generation, row] = isPut
      ? [change.business_uuid, change.generation, change.row]
      : ["", 0, null];
    let rid: number;
    if (entry === undefined) {
      // An insertion sets the last rowid, so this statement may use `run`. RETURNING is not used: it makes SQLite open a
      // savepoint, at which FTS5 writes out what it has buffered, and every row would cost ten times as much.
      const inserted = this.#insertEntry.run(
        change.record_id,
        change.collection,
        business,
        generation,
        change.change,
        row,
      );
      rid = Number(inserted.lastInsertRowid);
    } else {
      rid = numberOf(entry["rid"]);
      this.#updateEntry.get(business, generation, change.change, row, rid);
    }
    const wasLive = entry?.["live"] === 1;
    if (change.kind === "put") this.putDerived(layout, rid, change, wasLive);
    else if (wasLive) this.#removeDerived(layout, rid, change.record_id);
    return "applied";
  }

  /** Writes what is derived from a row; `wasLive` if there is an earlier derivation to replace. */
  putDerived(
    layout: CollectionLayout,
    rid: number,
    put: Pick<Put, "record_id" | "business_uuid" | "row">,
    wasLive: boolean,
  ): void {
    const sql = this.#prepare(layout);
    const document = rowDocument({ collection: layout.collection, row: put.row });
    const texts = layout.textFields.map((name) => document.texts[name] ?? null);
    const words = [keysOf(layout, document), ...texts.map(spaced)];
    const countries = joinCountries(document.countries);
    const columns = [
      put.record_id,
      put.business_uuid,
      countries,
      ...layout.rowColumns.map((column) => rowValue(column, document)),
    ];
    // Most updates change a price or an availability: what stays the same is not written again.
    const old = wasLive ? sql.compare.get(...columns, ...words, rid) : undefined;
    const isSame = (part: "row" | "keys" | "texts"): boolean => old?.[part] === 1;
    const [areTextsSame, areKeysSame] = [isSame("texts"), isSame("keys")];
    const isNoteworthy = !areTextsSame || old?.["countries"] !== countries;
    const before = wasLive && isNoteworthy ? rememberedOf(layout, sql.readRow.get(rid) ?? {}) : null;
    if (wasLive && !areTextsSame) this.#deleteFrom(sql.dropText, rid);
    if (wasLive && !areKeysSame) this.#deleteFrom(sql.dropKeys, rid);
    if (!isSame("row")) sql.putRow.get(rid, ...columns);
    if (!areTextsSame || !areKeysSame) sql.putWords.get(rid, ...words);
    if (!areTextsSame && texts.some((text) => text !== null)) {
      sql.putText.get(rid, ...texts);
      this.#putSpellings(layout, sql, texts);
    }
    if (isNoteworthy) {
      const after = { texts, countries: document.countries };
      this.#notes.push({ collection: layout.collection, rid, record_id: put.record_id, before, after });
    }
    if (!areKeysSame && words[0] !== "") sql.putKeys.get(rid, words[0] ?? "");
    this.#putListings(layout, rid, document, before?.countries ?? (wasLive ? document.countries : []));
  }

  /** An index is written only for a column that changes. */
  #putListings(
    layout: CollectionLayout,
    rid: number,
    document: IndexDocument,
    listed: readonly string[],
  ): void {
    const sql = this.#prepare(layout);
    const countries = new Set(document.countries);
    for (const country of listed) if (!countries.has(country)) sql.dropListing.get(country, rid);
    for (const country of countries) {
      const values = layout.listingColumns.map((column) => listingValue(column, document, country));
      if (!listed.includes(country)) sql.putListing.get(country, rid, ...values);
      else
        for (const [at, set] of sql.setListing.entries()) {
          const value = values[at] ?? null;
          set.get(value, country, rid, value);
        }
    }
  }

  #removeDerived(layout: CollectionLayout, rid: number, recordId: string): void {
    const sql = this.#prepare(layout);
    const before = rememberedOf(layout, sql.readRow.get(rid) ?? {});
    for (const country of before.countries) sql.dropListing.get(country, rid);
    this.#deleteFrom(sql.dropText, rid);
    this.#deleteFrom(sql.dropKeys, rid);
    sql.dropRow.get(rid);
    sql.dropWords.get(rid);
    this.#notes.push({ collection: layout.collection, rid, record_id: recordId, before, after: null });
  }

  #putSpellings(
    { collection }: CollectionLayout,
    sql: Pick<Statements, "putSpelling">,
    texts: readonly (string | null)[],
  ): void {
    const known = this.#spellings.get(collection) ?? new Set();
    this.#spellings.set(collection, known);
    for (const term of texts.flatMap((text) => text?.split(" ") ?? [])) {
      if (known.has(term) || !isSpelling(term)) continue;
      if (known.size >= spellingsKnownMax) known.clear();
      known.add(term);
      sql.putSpelling.get(term);
    }
  }

  #deleteFrom(statement: StatementSync, rid: number): void {
    statement.get(rid);
    this.#hasDeleted = true;
  }

  #prepare(layout: CollectionLayout): Statements {
    const known = this.#statements.get(layout.collection);
    if (known !== undefined) return known;
    const { row, words, listing, text, key, textFields, rowColumns, listingColumns } = layout;
    const texts = textFields.map((_, index) => `t${index}`);
    const marks = (count: number) => Array(count).fill("?").join(", ");
    const prepare = (sql: string) => this.#database.prepare(sql);
    const areAll = (columns: readonly string[]) => columns.map((each) => `${each} IS ?`).join(" AND ");
    const ofRow = ["record_id", "business_uuid", "countries", ...rowColumns.map(({ column }) => column)];
    const statements = {
      compare: prepare(
        `SELECT countries, ${areAll(ofRow)} AS row, keys IS ? AS keys, ${areAll(texts)} AS texts
         FROM ${row} JOIN ${words} USING (rid) WHERE rid = ?`,
      ),
      readRow: prepare(
        `SELECT countries, keys, ${texts.join(", ")} FROM ${row} JOIN ${words} USING (rid) WHERE rid = ?`,
      ),
      putRow: prepare(`INSERT OR REPLACE INTO ${row} VALUES (${marks(1 + ofRow.length)})`),
      putWords: prepare(`INSERT OR REPLACE INTO ${words} VALUES (${marks(2 + texts.length)})`),
      dropWords: prepare(`DELETE FROM ${words} WHERE rid = ?`),
      dropRow: prepare(`DELETE FROM ${row} WHERE rid = ?`),
      putListing: prepare(`INSERT OR REPLACE INTO ${listing} VALUES (${marks(2 + listingColumns.length)})`),
      setListing: listingColumns.map(({ column }) =>
        prepare(`UPDATE ${listing} SET ${column} = ? WHERE country = ? AND rid = ? AND ${column} IS NOT ?`),
      ),
      dropListing: prepare(`DELETE FROM ${listing} WHERE country = ? AND rid = ?`),
      putText: prepare(
        `INSERT INTO ${text} (rowid, ${texts.join(", ")}) VALUES (${marks(1 + texts.length)})`,
      ),
      putSpelling: prepare(`INSERT OR IGNORE INTO ${layout.spellings} (term) VALUES (?)`),
      dropText: prepare(`DELETE FROM ${text} WHERE rowid = ?`),
      putKeys: prepare(`INSERT INTO ${key} (rowid, k) VALUES (?, ?)`),
      dropKeys: prepare(`DELETE FROM ${key} WHERE rowid = ?`),
    };
    this.#statements.set(layout.collection, statements);
    return statements;
  }
}

/** Analysed text enclosed in spaces, so that `instr` finds a whole term. */
function spaced(text: string | null): string | null {
  return text === null ? null : ` ${text} `;
}

/** What a line of `readRow` says about texts and countries. */
function rememberedOf(layout: CollectionLayout, line: Row): RememberedRow {
  const texts = layout.textFields.map((_, index) => {
    const text = line[`t${index}`];
    return typeof text === "string" ? text.trim() : null;
  });
  return {
    texts,
    countries: textOf(line["countries"])
      .split(" ")
      .filter((each) => each !== ""),
  };
}

/** Country codes, each enclosed in spaces. */
function joinCountries(countries: readonly string[]): string {
  return countries.length === 0 ? "" : ` ${countries.join(" ")} `;
}

function keysOf(layout: CollectionLayout, document: IndexDocument): string {
  const keys: string[] = [];
  for (const [name, mark] of layout.keyMarks) {
    const value = document.fields[name];
    if (typeof value === "string" || typeof value === "boolean") keys.push(valueKey(mark, String(value)));
    else if (Array.isArray(value)) for (const each of value) keys.push(valueKey(mark, String(each)));
    for (const point of document.points[name] ?? []) keys.push(...pointKeys(mark, point));
  }
  return keys.join(" ");
}

function rowValue({ field }: FieldColumn, document: IndexDocument): Bindable {
  if (field.type === "geopoint") return pointsText(document.points[field.name]);
  const value = document.fields[field.name];
  if (value === undefined) return null;
  if (field.multiple) return encodeValues((Array.isArray(value) ? value : [value]).map(String));
  return bindable(value as IndexValue);
}

function listingValue({ field }: FieldColumn, document: IndexDocument, country: string): Bindable {
  const name = field.countryStem === null ? field.name : `${field.countryStem}${country}`;
  const value = document.fields[name];
  return value === undefined || Array.isArray(value) ? null : bindable(value as IndexValue);
}

/** A value as SQLite compares it: true is 1, false is 0. */
export function bindable(value: IndexValue): Bindable {
  return typeof value === "boolean" ? Number(value) : value;
}

/** `lat lng` of each point, separated by spaces. */
function pointsText(points: readonly GeoPoint[] | undefined): string | null {
  return points === undefined ? null : points.map(({ lat, lng }) => `${lat} ${lng}`).join(" ");
}

/** Parses what {@link pointsText} wrote. */
export function parsePoints(text: string): readonly GeoPoint[] {
  const numbers = text.split(" ").map(Number);
  const points: GeoPoint[] = [];
  for (let index = 0; index + 1 < numbers.length; index += 2) {
    points.push({ lat: numbers[index] ?? 0, lng: numbers[index + 1] ?? 0 });
  }
  return points;
}

// Keys: short tokens by which rows are found for exact values and for places. A key may match more than was requested
// (hashes collide, cells are coarse), but never less: a look-up by keys is always followed by a check of the columns.

/**
 * Side lengths of the cells in degrees, with the mark of their tokens. Fine cells are for a town, coarse ones for a
 * country.
 */
const cellSizes = [
  { mark: "0", degrees: 0.5 },
  { mark: "1", degrees: 8 },
] as const;
/** Maximum number of cells used to look up one circle. */
const cellsMax = 64;

/** Cache size for recently built keys, of values up to a maximum length: most rows share their keys with others. */
const keysMax = 4_096;
const keptLengthMax = 64;
const made = new BoundedMap<string, string>(keysMax);

/** The key of a value of the field with this one-letter mark: lower-case letters and digits. */
export function valueKey(mark: string, value: string): string {
  if (value.length > keptLengthMax) return makeKey(mark, value);
  const name = mark + value;
  const known = made.get(name);
  if (known !== undefined) return known;
  const key = makeKey(mark, value);
  made.set(name, key);
  return key;
}

function makeKey(mark: string, value: string): string {
  // Two multiplicative 32-bit hashes over UTF-16 code units.
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let index = 0; index < value.length; index += 1) {
    const unit = value.charCodeAt(index);
    a = Math.imul(a ^ unit, 0x9e3779b1);
    b = Math.imul(b ^ unit, 0x5f356495);
  }
  a = Math.imul(a ^ (a >>> 16), 0x85ebca6b) ^ Math.imul(b ^ (b >>> 13), 0xc2b2ae35);
  b = Math.imul(b ^ (b >>> 16), 0x85ebca6b) ^ Math.imul(a ^ (a >>> 13), 0xc2b2ae35);
  return `${mark}${((a >>> 0) * 0x200000 + ((b >>> 0) & 0x1fffff)).toString(36)}`;
}

/** Keys of the cells that contain a point of the field, one for each cell size. */
function pointKeys(mark: string, point: GeoPoint): readonly string[] {
  return cellSizes.map(({ mark: size, degrees }) => {
    return cellKey(mark + size, rowOf(point.lat, degrees), columnOf(point.lng, degrees));
  });
}

/** Keys of cells that together cover a circle; null if that would take too many. */
export function circleKeys(
  mark: string,
  circle: { readonly point: GeoPoint; readonly radiusKm: number },
): readonly string[] | null {
  const box = boxOf(circle.point, circle.radiusKm);
  if (box === null) return null;
  for (const { mark: size, degrees } of cellSizes) {
    const [top, bottom] = [rowOf(box.latMax, degrees), rowOf(box.latMin, degrees)];
    const left = Math.floor((box.lngMin + 180) / degrees);
    const right = Math.floor((box.lngMax + 180) / degrees);
    if ((top - bottom + 1) * (right - left + 1) > cellsMax) continue;
    const keys = new Set<string>();
    for (let row = bottom; row <= top; row += 1) {
      for (let column = left; column <= right; column += 1)
        keys.add(cellKey(mark + size, row, wrap(column, degrees)));
    }
    return [...keys];
  }
  return null;
}

interface Box {
  readonly latMin: number;
  readonly latMax: number;
  /** May be outside -180 to 180 if the box crosses the date line. */
  readonly lngMin: number;
  readonly lngMax: number;
}

/** Slightly larger than the circle, so that rounding cannot exclude its edge. */
const slack = 1e-6;

/** Smallest latitude/longitude box around a circle; null if a pole is inside. */
function boxOf({ lat, lng }: GeoPoint, radiusKm: number): Box | null {
  const angle = radiusKm / earthRadiusKm;
  const latReach = (angle * 180) / Math.PI + slack;
  if (Math.abs(lat) + latReach >= 90) return null;
  const lngReach = (Math.asin(Math.sin(angle) / Math.cos(radians(lat))) * 180) / Math.PI + slack;
  return { latMin: lat - latReach, latMax: lat + latReach, lngMin: lng - lngReach, lngMax: lng + lngReach };
}

function rowOf(lat: number, degrees: number): number {
  return Math.floor((lat + 90) / degrees);
}

function columnOf(lng: number, degrees: number): number {
  return wrap(Math.floor((lng + 180) / degrees), degrees);
}

function wrap(column: number, degrees: number): number {
  const columns = 360 / degrees;
  return ((column % columns) + columns) % columns;
}

function cellKey(mark: string, row: number, column: number): string {
  return `${mark}x${row}x${column}`;
}

// Rough estimates of how many rows match something: enough to choose between two plans that both give the right answer.
// Figures are cached until a tenth of the collection has changed.

/** Matches counted one by one; beyond that the number is estimated. */
const countedMax = 10_000;
const figuresMax = 4_096;
/** Changes to a collection that invalidate no figure, however small the collection is. */
const changesMin = 500;

interface Figure {
  readonly rows: number;
  /** Number of changes that the collection had seen. */
  readonly at: number;
}

export class RowStatistics {
  readonly #reads: Reads;
  readonly #figures = new BoundedMap<string, Figure>(figuresMax);
  readonly #rows = new Map<string, Figure>();
  readonly #changes = new Map<string, number>();

  constructor(reads: Reads) {
    this.#reads = reads;
  }

  noteChanges(collection: string, count: number): void {
    this.#changes.set(collection, (this.#changes.get(collection) ?? 0) + count);
  }

  rows(layout: CollectionLayout): number {
    const known = this.#rows.get(layout.collection);
    const changes = this.#changes.get(layout.collection) ?? 0;
    if (known !== undefined && changes - known.at <= changesMin + known.rows / 10) return known.rows;
    const rows = this.#count(`SELECT count(*) AS n FROM ${layout.row}`);
    this.#rows.set(layout.collection, { rows, at: changes });
    return rows;
  }

  listings(layout: CollectionLayout, country: string): number {
    return this.#remember(layout, `country ${country}`, () =>
      this.#extrapolate(layout, `SELECT rid FROM ${layout.listing} WHERE country = ? ORDER BY rid`, country),
    );
  }

  /** Number of rows that match an FTS5 expression over the keys. */
  withKeys(layout: CollectionLayout, expression: string): number {
    const { key } = layout;
    return this.#remember(layout, `keys ${expression}`, () =>
      this.#extrapolate(layout, `SELECT rowid AS rid FROM ${key} WHERE ${key} MATCH ?`, expression),
    );
  }

  /**
   * Number of rows of the country within a range of one number, up to `max`. Not cached: ranges are rarely requested
   * twice.
   */
  withinRange(
    condition: { readonly from: string; readonly where: string; readonly params: readonly Bindable[] },
    max: number,
  ): number {
    const { from, where, params } = condition;
    const found = this.#reads
      .prepare(`SELECT count(*) AS n FROM (SELECT 1 FROM ${from} WHERE ${where} LIMIT ${max})`)
      .get(...params);
    return numberOf(found?.["n"]);
  }

  /**
   * Counts up to {@link countedMax}; rows come in the order of their number, so the remaining ones are assumed to be
   * equally dense.
   */
  #extrapolate(layout: CollectionLayout, select: string, param: string): number {
    const found = this.#reads
      .prepare(`SELECT count(*) AS n, ifnull(max(rid), 0) AS last FROM (${select} LIMIT ${countedMax})`)
      .get(param);
    const counted = numberOf(found?.["n"]);
    if (counted < countedMax) return counted;
    const last = this.#count(`SELECT ifnull(max(rid), 0) AS n FROM ${layout.row}`);
    return Math.min(this.rows(layout), (counted * last) / Math.max(1, numberOf(found?.["last"])));
  }

  #remember(layout: CollectionLayout, name: string, count: () => number): number {
    const key = `${layout.collection} ${name}`;
    const changes = this.#changes.get(layout.collection) ?? 0;
    const known = this.#figures.get(key);
    if (known !== undefined && changes - known.at <= changesMin + this.rows(layout) / 10) return known.rows;
    const rows = count();
    this.#figures.set(key, { rows, at: changes });
    return rows;
  }

  #count(sql: string): number {
    return numberOf(this.#reads.prepare(sql).get()?.["n"]);
  }
}
