// Checks rows that were found in memory against the tables, and sorts them.

import type { StatementSync } from "node:sqlite";
import type { RowQuery } from "../row-index.ts";
import { numberOf, numberOrNull, textOf } from "./columns.ts";
import type { Sql } from "./row-conditions.ts";

/** A row that the query wants. */
export interface WantedRow {
  readonly rid: number;
  readonly record_id: string;
  /** Its position among the rows that were to be checked. */
  readonly place: number;
  /** Values by sort key; null where the row has no value, and for relevance. */
  readonly values: readonly (number | null)[];
}

/** Returns those of the given rows that the query wants, in no particular order. */
export type CheckRows = (rids: readonly number[]) => readonly WantedRow[];

/** Checks with the statement built by `checkSql`. */
export function checkWith(statement: StatementSync, { params }: Sql, query: RowQuery): CheckRows {
  return (rids) =>
    statement.all(JSON.stringify(rids), ...params).map((row) => {
      const place = numberOf(row["place"]);
      const values = query.sort.map((_, index) => numberOrNull(row[`s${index}`] ?? null));
      return { rid: rids[place] ?? 0, record_id: textOf(row["record_id"]), place, values };
    });
}

/** The first rows in the order of the query, at most its limit. */
export function firstOf(rows: readonly WantedRow[], query: RowQuery): readonly WantedRow[] {
  return rows.toSorted((a, b) => compareRows(a, b, query)).slice(0, query.limit);
}

/** Missing values sort last in both directions; ties are broken by record_id. */
function compareRows(a: WantedRow, b: WantedRow, query: RowQuery): number {
  for (const [index, { direction }] of query.sort.entries()) {
    const [left, right] = [a.values[index] ?? null, b.values[index] ?? null];
    if (left === right) continue;
    if (left === null) return 1;
    if (right === null) return -1;
    return direction === "asc" ? left - right : right - left;
  }
  return a.record_id < b.record_id ? -1 : 1;
}
