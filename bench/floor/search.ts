// Child process, floor of search: the very statements that the index runs for a query, run in a loop and nothing else.

import { type SQLInputValue, StatementSync } from "node:sqlite";
import { toRowQuery } from "../../collections/row-query.ts";
import { parseSearchRequest } from "../../collections/search-request.ts";
import type { JsonValue } from "../../protocol/canonical-json.ts";
import { SqliteDatabase } from "../../storage/sqlite/database.ts";
import { SqliteRowIndex } from "../../storage/sqlite/row-index.ts";
import { answerParent } from "../answer-parent.ts";

/** What one query runs, in order. */
type Statements = readonly Call[];

interface Call {
  readonly method: "all" | "get";
  readonly sql: string;
  readonly params: readonly SQLInputValue[];
}

let database: SqliteDatabase | null = null;
let index: SqliteRowIndex | null = null;
let recorded: Call[] | null = null;

/** Opens the index file; every read of it is seen while something is recorded. */
function open({ file }: { readonly file: string }): void {
  database = SqliteDatabase.open(file);
  const prepare = database.db.prepare.bind(database.db);
  database.db.prepare = (sql) => watched(prepare(sql), sql);
  index = new SqliteRowIndex(database);
}

function watched(statement: StatementSync, sql: string): StatementSync {
  for (const method of ["all", "get"] as const) {
    const run = statement[method].bind(statement) as (...params: SQLInputValue[]) => unknown;
    Object.defineProperty(statement, method, {
      value: (...params: SQLInputValue[]) => {
        recorded?.push({ method, sql, params });
        return run(...params);
      },
    });
  }
  return statement;
}

/** The statements of each query, and how many rows each answers. */
async function plan({
  bodies,
}: {
  readonly bodies: readonly JsonValue[];
}): Promise<readonly { statements: Statements; rows: number }[]> {
  const plans: { statements: Statements; rows: number }[] = [];
  for (const body of bodies) {
    const request = parseSearchRequest(body, null);
    if (!request.ok) throw new Error(`${request.code} ${request.detail}`);
    recorded = [];
    const hits = (await index?.search(toRowQuery(request.value))) ?? [];
    plans.push({ statements: recorded, rows: hits.length });
    recorded = null;
  }
  return plans;
}

/** Milliseconds that each query took. */
function run({ queries }: { readonly queries: readonly Statements[] }): Float64Array {
  const prepared = new Map<string, StatementSync>();
  const statementOf = (sql: string): StatementSync => {
    const known = prepared.get(sql);
    if (known !== undefined) return known;
    const statement = StatementSync.prototype === undefined ? null : database?.db.prepare(sql);
    if (statement === undefined || statement === null) throw new Error("the index is not open");
    prepared.set(sql, statement);
    return statement;
  };
  for (const { sql } of queries.flat()) statementOf(sql);
  return Float64Array.from(queries, (statements) => {
    const startedMs = performance.now();
    for (const { method, sql, params } of statements) statementOf(sql)[method](...params);
    return performance.now() - startedMs;
  });
}

answerParent({ open, plan, run }, async () => {
  index?.close();
  database?.close();
});
