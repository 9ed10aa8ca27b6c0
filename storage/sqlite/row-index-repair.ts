// Keeps the row index consistent with the heads whatever happens to the files: the index is a projection in its own file,
// which may be deleted, or restored from a backup of a different day than the store's.
//   K1. While both files are intact the index is never ahead of the heads: a version is stored before its row is applied.
//       So for every record the index knows at most the head's change, and the two sums of changes are equal only if every
//       record's changes are. Equal sums end the check; it costs one scan of each table.
//   K2. What the index lacks, rows and tombstones alike, is applied from the store; pushes that were about to apply it
//       find it done.
//   K3. An index that is ahead for some record belongs to another store file. It is dropped and rebuilt, because a change
//       number that it has already seen would keep the correct one out.
//   K4. A file that is damaged is dropped and rebuilt as well. That is found out before it is used, by a look at every page:
//       a damaged page that only some search reads would fail that search for ever.

import { existsSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { isCollectionName } from "../../protocol/identifiers.ts";
import type { RowChange, RowIndex } from "../row-index.ts";
import { numberOf, type Row, textOf } from "./columns.ts";
import { isDamage, type SqliteDatabase, type SqliteOptions } from "./database.ts";
import { SqliteRowIndex } from "./row-index.ts";

/** Number of heads read, and rows applied, at a time. */
const pageRows = 1_000;

export interface OpenRowIndex extends AsyncDisposable {
  readonly index: RowIndex;
  /** Rows and tombstones that were missing and have been added. */
  readonly repaired: number;
  /** Why the file was made again; null if it was not. */
  readonly remade: "other_store" | "damaged" | null;
}

/**
 * Opens the index in the file at `path`, creating it if it is missing, and makes it match the records in `store`. Must be
 * called before anything else writes to either; the tables of the record store must exist.
 */
export async function openRepairedIndex(
  path: string,
  store: SqliteDatabase,
  options: SqliteOptions = {},
): Promise<OpenRowIndex> {
  const isDamaged = existsSync(path) && isFileDamaged(path);
  if (!isDamaged) {
    const opened = new SqliteRowIndex(path, options);
    const lacking = compare(store, path);
    if (lacking !== "ahead") return await filled(store, opened, { lacking, remade: null });
    opened.close();
  }
  for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
  const made = new SqliteRowIndex(path, options);
  const all = compare(store, path);
  if (all === "ahead") throw new Error("A new row index is ahead of the records.");
  return await filled(store, made, { lacking: all, remade: isDamaged ? "damaged" : "other_store" });
}

/** See K4. */
function isFileDamaged(path: string): boolean {
  try {
    using rows = new DatabaseSync(path);
    const [first] = Object.values(rows.prepare("PRAGMA quick_check(1)").get() ?? {});
    return first !== "ok";
  } catch (error) {
    if (isDamage(error)) return true;
    throw error;
  }
}

/** Record ids for which the index in a file is behind (K1), or `ahead` (K3). */
function compare(store: SqliteDatabase, path: string): readonly string[] | "ahead" {
  using rows = new DatabaseSync(path, { readOnly: true });
  const heads = totalsOf(store, "record_head WHERE change >= 0");
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

function totalsOf(
  database: Pick<DatabaseSync, "prepare">,
  lines: "record_head WHERE change >= 0" | "row_entry",
) {
  const sums = database.prepare(`SELECT count(*) AS count, total(change) AS changes FROM ${lines}`).get();
  return { count: numberOf(sums?.["count"]), changes: numberOf(sums?.["changes"]) };
}

function* headsOf(store: SqliteDatabase): Generator<Row> {
  const read = store.prepare(
    "SELECT record_id, change FROM record_head WHERE record_id > ? AND change >= 0 ORDER BY record_id LIMIT ?",
  );
  for (let after = ""; ; ) {
    const page = read.all(after, pageRows);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < pageRows) return;
    after = textOf(last["record_id"]);
  }
}

async function filled(
  store: SqliteDatabase,
  index: SqliteRowIndex,
  { lacking, remade }: { readonly lacking: readonly string[] } & Pick<OpenRowIndex, "remade">,
): Promise<OpenRowIndex> {
  const repaired = await fill(store, index, lacking);
  return { index, repaired, remade, [Symbol.asyncDispose]: async () => index.close() };
}

/** See K2. */
async function fill(store: SqliteDatabase, index: RowIndex, ids: readonly string[]): Promise<number> {
  const read = store.prepare(
    `SELECT h.record_id, h.business_uuid, h.type, h.generation, h.change, h.live, v.row FROM record_head h
     LEFT JOIN record_version v ON v.record_no = h.no AND v.generation = h.generation AND v.hash = h.hash
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
  return {
    kind: "put",
    ...common,
    business_uuid: textOf(head["business_uuid"]),
    generation: numberOf(head["generation"]),
    row: textOf(head["row"]),
  };
}
