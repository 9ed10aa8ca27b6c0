// Rough estimates of how many rows match something: enough to choose between two plans that both give the right answer.
// Figures are cached until a tenth of the collection has changed.

import { BoundedMap } from "../../std/bounded-map.ts";
import { numberOf } from "./columns.ts";
import type { SqliteDatabase } from "./database.ts";
import type { CollectionLayout } from "./row-layout.ts";
import type { Bindable } from "./row-writer.ts";

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
  readonly #database: SqliteDatabase;
  readonly #figures = new BoundedMap<string, Figure>(figuresMax);
  readonly #rows = new Map<string, Figure>();
  readonly #changes = new Map<string, number>();

  constructor(database: SqliteDatabase) {
    this.#database = database;
  }

  noteChanges(collection: string, count: number): void {
    this.#changes.set(collection, (this.#changes.get(collection) ?? 0) + count);
  }

  /** Number of rows of the collection. */
  rows(layout: CollectionLayout): number {
    const known = this.#rows.get(layout.collection);
    const changes = this.#changes.get(layout.collection) ?? 0;
    if (known !== undefined && changes - known.at <= changesMin + known.rows / 10) return known.rows;
    const rows = this.#count(`SELECT count(*) AS n FROM ${layout.row}`);
    this.#rows.set(layout.collection, { rows, at: changes });
    return rows;
  }

  /** Number of rows published in a country. */
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
    const found = this.#database
      .prepare(`SELECT count(*) AS n FROM (SELECT 1 FROM ${from} WHERE ${where} LIMIT ${max})`)
      .get(...params);
    return numberOf(found?.["n"]);
  }

  /**
   * Counts up to {@link countedMax}; rows come in the order of their number, so the remaining ones are assumed to be
   * equally dense.
   */
  #extrapolate(layout: CollectionLayout, select: string, param: string): number {
    const found = this.#database
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
    return numberOf(this.#database.prepare(sql).get()?.["n"]);
  }
}
