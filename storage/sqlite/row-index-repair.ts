// Keeps the row index equal to the heads over what happens to files: the index is a projection in a file of its own,
// which may be deleted, or put back from another day than the store's.
//   K1. While both files are whole the index is never ahead of the heads: a version is stored before its row is applied.
//       So for every record the index knows at most the head's change, and both sums of changes are equal only when
//       every record's are. Equal sums end the check; their cost is one look over each table.
//   K2. What the index lacks, rows and tombstones alike, is applied from the store; the pushes that were about to do so
//       find it done.
//   K3. An index that is ahead of a record belongs to another store file. It is dropped and made anew, for a change
//       number that it has seen would keep the true one out.

import { rmSync } from "node:fs";
import { indexDocument } from "../../collections/index-document.ts";
import type { JsonObject } from "../../protocol/canonical-json.ts";
import { isCollectionName } from "../../protocol/identifiers.ts";
import type { RowChange, RowIndex } from "../row-index.ts";
import { numberOf, type Row, textOf } from "./columns.ts";
import { SqliteDatabase, type SqliteOptions } from "./database.ts";
import { mappedBytesMax, SqliteRowIndex } from "./row-index.ts";

/** Heads looked at, and rows applied, at a time. */
const pageRows = 1_000;

export interface OpenRowIndex extends AsyncDisposable {
  readonly index: RowIndex;
  /** Rows and tombstones that were missing and are there now. */
  readonly repaired: number;
  /** The file was of another store and was made anew. */
  readonly isNew: boolean;
}

/**
 * Opens the index in the file at `path`, made when it is missing, and brings it to what the records in `store` say.
 * To be called before anything else writes to either; the tables of the record store must be there.
 */
export async function openRepairedIndex(
  path: string,
  store: SqliteDatabase,
  options: SqliteOptions = {},
): Promise<OpenRowIndex> {
  const opened = open(path, options);
  const lacking = compare(store, opened.database);
  if (lacking !== "ahead")
    return { ...opened, repaired: await fill(store, opened.index, lacking), isNew: false };
  opened.close();
  for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
  const made = open(path, options);
  const all = compare(store, made.database);
  if (all === "ahead") throw new Error("A new row index is ahead of the records.");
  return { ...made, repaired: await fill(store, made.index, all), isNew: true };
}

function open(path: string, options: SqliteOptions) {
  const database = SqliteDatabase.open(path, { mappedBytesMax, ...options });
  const index = new SqliteRowIndex(database);
  const close = (): void => {
    index.close();
    database.close();
  };
  return { database, index, close, [Symbol.asyncDispose]: async () => close() };
}

/** Record ids that the index is behind of (K1), or `ahead` (K3). */
function compare(store: SqliteDatabase, rows: SqliteDatabase): readonly string[] | "ahead" {
  const heads = totalsOf(store, "record_head");
  const entries = totalsOf(rows, "row_entry");
  if (heads.count === entries.count && heads.changes === entries.changes) return [];
  const entry = rows.prepare("SELECT change FROM row_entry WHERE record_id = ?");
  const lacking: string[] = [];
  let known = 0;
  for (const head of headsOf(store)) {
    const id = textOf(head["record_id"]);
    const found = entry.get(id)?.["change"];
    if (found !== undefined) known += 1;
    const ahead = found === undefined ? -1 : numberOf(found) - numberOf(head["change"]);
    if (ahead > 0) return "ahead";
    if (ahead < 0) lacking.push(id);
  }
  return known === entries.count ? lacking : "ahead";
}

function totalsOf(database: SqliteDatabase, table: "record_head" | "row_entry") {
  const sums = database.prepare(`SELECT count(*) AS count, total(change) AS changes FROM ${table}`).get();
  return { count: numberOf(sums?.["count"]), changes: numberOf(sums?.["changes"]) };
}

function* headsOf(store: SqliteDatabase): Generator<Row> {
  const read = store.prepare(
    "SELECT record_id, change FROM record_head WHERE record_id > ? ORDER BY record_id LIMIT ?",
  );
  for (let after = ""; ; ) {
    const page = read.all(after, pageRows);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < pageRows) return;
    after = textOf(last["record_id"]);
  }
}

/** See K2. */
async function fill(store: SqliteDatabase, index: RowIndex, ids: readonly string[]): Promise<number> {
  const read = store.prepare(
    `SELECT h.record_id, h.business_uuid, h.type, h.change, h.live, v.row FROM record_head h
     LEFT JOIN record_version v ON v.record_id = h.record_id AND v.generation = h.generation AND v.hash = h.hash
     WHERE h.record_id = ?`,
  );
  for (let from = 0; from < ids.length; from += pageRows) {
    const changes = ids.slice(from, from + pageRows).map((id) => changeOf(read.get(id) ?? {}));
    await index.apply(changes);
  }
  return ids.length;
}

function changeOf(head: Row): RowChange {
  const collection = textOf(head["type"]);
  if (!isCollectionName(collection)) throw new Error(`A stored record is of the unknown type ${collection}.`);
  const common = { collection, record_id: textOf(head["record_id"]), change: numberOf(head["change"]) };
  if (head["live"] !== 1) return { kind: "remove", ...common };
  const row = textOf(head["row"]);
  const document = indexDocument(collection, JSON.parse(row) as JsonObject);
  return { kind: "put", ...common, business_uuid: textOf(head["business_uuid"]), row, document };
}
