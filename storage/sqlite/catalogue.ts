// The catalogue of a business in SQLite: one type after another, each in the order of its records' numbers. A number never
// changes and belongs to one type, so a head is listed once (R5), and a page reads only the rows that it shows.

import type { StatementSync } from "node:sqlite";
import type { HeadPage } from "../record-store.ts";
import { numberOf, type Row, textOf } from "./columns.ts";
import { headOf } from "./record-rows.ts";

interface CatalogueStatements {
  /** Heads of (business, type) after a number. */
  readonly listCatalogue: StatementSync;
  /** The first type of the business after a type. */
  readonly nextType: StatementSync;
}

interface CataloguePage {
  readonly businessUuid: string;
  readonly cursor: string | null;
  readonly limit: number;
  readonly type: string | null;
}

export function readCatalogue(sql: CatalogueStatements, asked: CataloguePage): HeadPage {
  const { businessUuid, limit, type: only } = asked;
  const nextType = (after: string): string | null => {
    if (only !== null) return after === "" ? only : null;
    const found = sql.nextType.get(businessUuid, after);
    return found === undefined ? null : textOf(found["type"]);
  };
  let place = asked.cursor === null ? { type: nextType(""), no: 0 } : parseCursor(asked.cursor, only);
  const rows: Row[] = [];
  while (place.type !== null) {
    rows.push(...sql.listCatalogue.all(businessUuid, place.type, place.no, limit - rows.length));
    if (rows.length >= limit) break;
    place = { type: nextType(place.type), no: 0 };
  }
  const last = rows.at(-1);
  const isFull = last !== undefined && rows.length >= limit;
  const cursor = isFull ? `after:${textOf(last["type"])}:${numberOf(last["no"])}` : null;
  return { heads: rows.map(headOf), cursor };
}

function parseCursor(
  cursor: string,
  only: string | null,
): { readonly type: string | null; readonly no: number } {
  const [, type, no] = /^after:([^:]+):([1-9]\d{0,15})$/.exec(cursor) ?? [];
  if (type === undefined || (only !== null && type !== only))
    throw new RangeError("not a cursor of this catalogue");
  return { type, no: Number(no) };
}
