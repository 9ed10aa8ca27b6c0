// The public register in SQLite: the port's obligations G1–G6. Every write gives its entry the next sequence number of the
// file, within the single writer's transaction: a reader that has seen number n has seen everything before it.

import { type RegisterEntry, type RegisterStore, registerTables } from "../register-store.ts";
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
  const entries = "SELECT seq, tbl, key, partition, change, body FROM register_entry";
  // No entry is ever deleted, so the highest number only grows.
  const next = "(SELECT coalesce(max(seq), 0) + 1 FROM register_entry)";
  const put = database.prepare(
    `INSERT INTO register_entry VALUES (${next}, ?, ?, ?, ?, ?) ON CONFLICT (tbl, key) DO UPDATE SET
       seq = ${next}, change = excluded.change, body = excluded.body
     WHERE excluded.change > register_entry.change AND excluded.partition = register_entry.partition`,
  );
  const claim = database.prepare(
    `INSERT INTO key_owner VALUES
       (?, coalesce((SELECT partition FROM register_entry WHERE tbl = 'key' AND key = ?), ?)) ON CONFLICT DO NOTHING`,
  );
  const owner = database.prepare("SELECT party FROM key_owner WHERE key_id = ?");
  const get = database.prepare(`${entries} WHERE tbl = ? AND key = ?`);
  const list = database.prepare(`${entries} WHERE tbl = ? AND partition = ? ORDER BY key`);
  const changes = database.prepare(`${entries} WHERE seq > ? ORDER BY seq LIMIT ?`);
  return {
    put: async (written) => {
      await database.write(() => {
        for (const { table, key, partition, change, body } of written)
          put.run(table, key, partition, change, body);
      });
    },
    claimKey: (keyId, partyUuid) =>
      database.write(() => {
        claim.run(keyId, keyId, partyUuid);
        return textOf(owner.get(keyId)?.["party"]);
      }),
    get: async (table, key) => {
      const row = get.get(table, key);
      return row === undefined ? null : entryOf(row);
    },
    list: async (table, partition) => list.all(table, partition).map(entryOf),
    follow: () => {
      let given = 0;
      return {
        next: async (limit) => {
          const rows = changes.all(given, limit);
          const last = rows.at(-1);
          if (last !== undefined) given = numberOf(last["seq"]);
          return { entries: rows.map(entryOf), more: rows.length === limit };
        },
      };
    },
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
