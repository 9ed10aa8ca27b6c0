// What a witness remembers, in one SQLite file: W1–W3 of the port. Each step is one transaction that compares and changes, and its
// promise resolves after the flush (database.ts, D1); a second process on the same file waits for its lock.

import { assertForward, type WitnessedHead, type WitnessStore } from "../witness-store.ts";
import { numberOf, textOf } from "./columns.ts";
import type { SqliteDatabase } from "./database.ts";

const migrations = [
  `CREATE TABLE witnessed_head (
     origin TEXT PRIMARY KEY, size INTEGER NOT NULL, root TEXT NOT NULL, note TEXT NOT NULL) WITHOUT ROWID;`,
];

/** Opens the store, creating its table if it is missing. */
export function openSqliteWitnessStore(database: SqliteDatabase): WitnessStore {
  database.migrate("witness", migrations);
  const find = database.prepare("SELECT size, root, note FROM witnessed_head WHERE origin = ?");
  const put = database.prepare("INSERT OR REPLACE INTO witnessed_head VALUES (?, ?, ?, ?)");
  const read = (origin: string): WitnessedHead | null => {
    const row = find.get(origin);
    if (row === undefined) return null;
    return { size: numberOf(row["size"]), root: textOf(row["root"]), note: textOf(row["note"]) };
  };
  return {
    read: async (origin) => read(origin),
    advance: async (origin, from, to) => {
      assertForward(from, to);
      return database.write(() => {
        const now = read(origin);
        if (now?.size !== from?.size || now?.root !== from?.root) return false;
        put.run(origin, to.size, to.root, to.note);
        return true;
      });
    },
  };
}
