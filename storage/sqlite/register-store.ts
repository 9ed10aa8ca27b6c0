// The public register in SQLite: the port's obligations G1–G6. Every write gives its entry the next sequence number of the
// file, within the single writer's transaction: a reader that has seen number n has seen everything before it.

import type { StatementSync } from "node:sqlite";
import {
  type RegisterEntry,
  type RegisterFeed,
  type RegisterStore,
  type RegisterTable,
  registerTables,
} from "../register-store.ts";
import { numberOf, type Row, textOf } from "./columns.ts";
import type { SqliteDatabase } from "./database.ts";

const migrations = [
  `CREATE TABLE register_entry (
     seq INTEGER PRIMARY KEY, tbl TEXT NOT NULL, key TEXT NOT NULL, partition TEXT NOT NULL, change INTEGER NOT NULL,
     body TEXT NOT NULL, UNIQUE (tbl, key));
   CREATE INDEX register_by_partition ON register_entry (tbl, partition, key);
   CREATE TABLE key_owner (key_id TEXT PRIMARY KEY, party TEXT NOT NULL) WITHOUT ROWID;`,
];

/** Opens the register in `database`, creating its tables if they are missing. */
export function openSqliteRegisterStore(database: SqliteDatabase): RegisterStore {
  database.migrate("register", migrations);
  return new SqliteRegisterStore(database);
}

class SqliteRegisterStore implements RegisterStore {
  readonly #database: SqliteDatabase;
  readonly #sql: Statements;

  constructor(database: SqliteDatabase) {
    this.#database = database;
    this.#sql = prepareStatements(database);
  }

  async put(entries: readonly RegisterEntry[]): Promise<void> {
    await this.#database.write(() => {
      for (const { table, key, partition, change, body } of entries) {
        this.#sql.put.run(table, key, partition, change, body);
      }
    });
  }

  claimKey(keyId: string, partyUuid: string): Promise<string> {
    return this.#database.write(() => {
      this.#sql.claim.run(keyId, keyId, partyUuid);
      return textOf(this.#sql.owner.get(keyId)?.["party"]);
    });
  }

  async get(table: RegisterTable, key: string): Promise<RegisterEntry | null> {
    const row = this.#sql.get.get(table, key);
    return row === undefined ? null : entryOf(row);
  }

  async list(table: RegisterTable, partition: string): Promise<readonly RegisterEntry[]> {
    return this.#sql.list.all(table, partition).map(entryOf);
  }

  follow(): RegisterFeed {
    let given = 0;
    return {
      next: async (limit) => {
        const rows = this.#sql.changes.all(given, limit);
        const last = rows.at(-1);
        if (last !== undefined) given = numberOf(last["seq"]);
        return { entries: rows.map(entryOf), more: rows.length === limit };
      },
    };
  }
}

interface Statements {
  readonly put: StatementSync;
  readonly claim: StatementSync;
  readonly owner: StatementSync;
  readonly get: StatementSync;
  readonly list: StatementSync;
  readonly changes: StatementSync;
}

function prepareStatements(database: SqliteDatabase): Statements {
  const entries = "SELECT seq, tbl, key, partition, change, body FROM register_entry";
  // No entry is ever deleted, so the highest number only grows.
  const next = "(SELECT coalesce(max(seq), 0) + 1 FROM register_entry)";
  return {
    put: database.prepare(
      `INSERT INTO register_entry VALUES (${next}, ?, ?, ?, ?, ?) ON CONFLICT (tbl, key) DO UPDATE SET
         seq = ${next}, change = excluded.change, body = excluded.body
       WHERE excluded.change > register_entry.change AND excluded.partition = register_entry.partition`,
    ),
    claim: database.prepare(
      `INSERT INTO key_owner VALUES
         (?, coalesce((SELECT partition FROM register_entry WHERE tbl = 'key' AND key = ?), ?)) ON CONFLICT DO NOTHING`,
    ),
    owner: database.prepare("SELECT party FROM key_owner WHERE key_id = ?"),
    get: database.prepare(`${entries} WHERE tbl = ? AND key = ?`),
    list: database.prepare(`${entries} WHERE tbl = ? AND partition = ? ORDER BY key`),
    changes: database.prepare(`${entries} WHERE seq > ? ORDER BY seq LIMIT ?`),
  };
}

function entryOf(row: Row): RegisterEntry {
  const table = registerTables.find((each) => each === row["tbl"]);
  if (table === undefined) throw new TypeError("a register entry is of no known table");
  return {
    table,
    partition: textOf(row["partition"]),
    key: textOf(row["key"]),
    change: numberOf(row["change"]),
    body: textOf(row["body"]),
  };
}
