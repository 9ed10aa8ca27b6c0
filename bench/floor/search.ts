// In a child process, floor of search: the same queries asked of SQLite directly, without a server, in two ways: as one statement
// each over plain tables (an index by price, FTS5 with its own ranking), and through the service's index itself. For each
// kind of query the faster way is the floor.

import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { collections } from "../../collections/collections.ts";
import { indexDocument } from "../../collections/row-change.ts";
import type { JsonObject, JsonValue } from "../../protocol/json/canonical-json.ts";
import type { RowQuery } from "../../storage/row-index.ts";
import { RowReader } from "../../storage/sqlite/row-reader.ts";
import { rowQueryOf } from "../catalogue.ts";
import { msOf } from "../work.ts";

const { textFields } = collections.products;
const texts = textFields.map((_, index) => `t${index}`);

/** Copies the products of an index file into tables of a separate file. */
function openPlain(paths: { readonly index: string; readonly plain: string }) {
  const db = new DatabaseSync(paths.plain);
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;
    CREATE TABLE product (
      rid INTEGER PRIMARY KEY, record_id TEXT NOT NULL, business_uuid TEXT NOT NULL, availability TEXT, tags TEXT,
      row TEXT NOT NULL);
    CREATE TABLE listing (country TEXT, price REAL, rid INTEGER, PRIMARY KEY (country, price, rid)) WITHOUT ROWID;
    CREATE INDEX listing_by_row ON listing (rid, country);
    CREATE VIRTUAL TABLE text USING fts5(${texts.join(", ")}, content='', tokenize='ascii');
    BEGIN`);
  const addProduct = db.prepare("INSERT INTO product VALUES (?, ?, ?, ?, ?, ?)");
  const addListing = db.prepare("INSERT INTO listing VALUES (?, ?, ?)");
  const addText = db.prepare(
    `INSERT INTO text (rowid, ${texts.join(", ")}) VALUES (?, ${texts.map(() => "?").join(", ")})`,
  );
  const index = new DatabaseSync(paths.index, { readOnly: true });
  const entries = index.prepare(
    "SELECT rid, record_id, business_uuid, row FROM row_entry WHERE collection = 'products' AND row IS NOT NULL",
  );
  for (const { rid, record_id: id, business_uuid: uuid, row } of entries.iterate()) {
    if (typeof rid !== "number" || typeof row !== "string")
      throw new Error("an entry has a number and a row");
    const document = indexDocument("products", JSON.parse(row) as JsonObject);
    const { availability, tags } = document.fields;
    const tagsText = Array.isArray(tags) ? `|${tags.join("|")}|` : null;
    addProduct.run(rid, String(id), String(uuid), String(availability), tagsText, row);
    addText.run(rid, ...textFields.map((field) => document.texts[field] ?? null));
    for (const country of document.countries)
      addListing.run(country, Number(document.fields[`price_${country}`]), rid);
  }
  index.close();
  db.exec("COMMIT; ANALYZE; INSERT INTO text (text) VALUES ('optimize')");
  const statements = new Map<string, StatementSync>();
  /** Rows for a query in the form that catalogue.ts makes. */
  const search = (query: RowQuery): readonly unknown[] => {
    const { sql, params } = plainStatement(query);
    const statement = statements.get(sql) ?? db.prepare(sql);
    statements.set(sql, statement);
    return statement.all(...params);
  };
  return { search, close: () => db.close() };
}

const columns = "p.record_id, p.business_uuid, p.row";

function plainStatement(query: RowQuery) {
  const { country, text, clauses, sort, limit } = query;
  const conditions = ["l.country = ?"];
  const params: SQLInputValue[] = [country];
  for (const clause of clauses) {
    const [condition, value] = conditionOf(clause);
    conditions.push(condition);
    params.push(value);
  }
  const select = (from: string, where: readonly string[], order: string): string =>
    `SELECT ${columns} FROM ${from} WHERE ${where.join(" AND ")} ORDER BY ${order}, p.record_id LIMIT ?`;
  const product = "CROSS JOIN product p ON p.rid = l.rid";
  if (text === undefined)
    return { sql: select(`listing l ${product}`, conditions, "l.price"), params: [...params, limit] };
  const fields = text.fields.map((field) => `t${textFields.indexOf(field)}`).join(" ");
  const match = `{${fields}} : (${text.words.map(({ exact, forms }) => `(${[exact, ...forms].map((term) => `"${term}"`).join(" OR ")})`).join(" AND ")})`;
  const from = `text CROSS JOIN listing l ON l.rid = text.rowid ${product}`;
  const order = sort[0]?.field.startsWith("price_") === true ? "l.price" : "bm25(text)";
  return { sql: select(from, ["text MATCH ?", ...conditions], order), params: [match, ...params, limit] };
}

function conditionOf(clause: RowQuery["clauses"][number]): readonly [string, SQLInputValue] {
  if (clause.op === "gte" && clause.field.startsWith("price_")) return ["l.price >= ?", clause.value];
  if (clause.op === "eq" && clause.field === "availability")
    return ["p.availability = ?", String(clause.value)];
  if (clause.op === "eq" && clause.field === "tags") return ["instr(p.tags, ?) > 0", `|${clause.value}|`];
  throw new Error(`catalogue.ts asks for ${JSON.stringify(clause)}, which the plain tables do not know`);
}

let both: { readonly index: RowReader; readonly plain: ReturnType<typeof openPlain> } | null = null;

export function open(paths: { readonly index: string; readonly plain: string }): void {
  both = { index: new RowReader(paths.index), plain: openPlain(paths) };
}

function opened(): NonNullable<typeof both> {
  if (both === null) throw new Error("the index is not open");
  return both;
}

/** Number of rows that each query returns. Both ways must agree. */
export async function countRows(bodies: readonly JsonValue[]): Promise<readonly { readonly rows: number }[]> {
  return await Array.fromAsync(bodies.map(rowQueryOf), async (query) => {
    const rows = (await opened().index.search(query)).length;
    if (opened().plain.search(query).length !== rows) throw new Error("the plain tables answer otherwise");
    return { rows };
  });
}

export async function run(bodies: readonly JsonValue[]) {
  const queries = bodies.map(rowQueryOf);
  const { index, plain } = opened();
  return {
    plainMs: await Array.fromAsync(queries, (query) => msOf(() => plain.search(query))),
    indexMs: await Array.fromAsync(queries, (query) => msOf(() => index.search(query))),
  };
}

export function close(): void {
  both?.index.close();
  both?.plain.close();
}
