// The tables of the row index in a database: creates them, migrates them, and derives them again when their layout has
// changed.

import { distanceKm } from "../../collections/geo-distance.ts";
import { type CollectionName, collectionNames } from "../../protocol/identifiers.ts";
import { numberOf, textOf } from "./columns.ts";
import type { SqliteDatabase } from "./database.ts";
import { nearFunction } from "./row-conditions.ts";
import { layoutOf } from "./row-layout.ts";
import { parsePoints, RowWriter } from "./row-writer.ts";

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
