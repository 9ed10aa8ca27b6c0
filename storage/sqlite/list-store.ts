// Operators' lists in SQLite: the port's obligations OL1–OL4. The bytes are written in parts, each in a turn of its own, since a large
// list would keep the thread; the row of the version is written last.

import { concatBytes } from "../../protocol/bytes.ts";
import { abandonedAfterMs, type ListStore, type ListVersion } from "../list-store.ts";
import { bytesOf, numberOf, type Row, textOf } from "./columns.ts";
import type { SqliteDatabase } from "./database.ts";

const migrations = [
  `CREATE TABLE operator_list (
     list TEXT NOT NULL, version INTEGER NOT NULL, file TEXT NOT NULL, sha256 TEXT NOT NULL, size INTEGER NOT NULL,
     holds TEXT NOT NULL, set_by TEXT NOT NULL, reason TEXT NOT NULL, set_at TEXT NOT NULL,
     PRIMARY KEY (list, version)) WITHOUT ROWID;
   CREATE TABLE operator_list_file (
     list TEXT NOT NULL, file TEXT NOT NULL, begun_at INTEGER NOT NULL, PRIMARY KEY (list, file)) WITHOUT ROWID;
   CREATE TABLE operator_list_bytes (
     list TEXT NOT NULL, file TEXT NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL,
     PRIMARY KEY (list, file, part));`,
];

const partBytes = 1_048_576;

/** Opens the store in `database`, creating its tables if they are missing. */
export function openSqliteListStore(database: SqliteDatabase, now: () => number): ListStore {
  database.migrate("operator_list", migrations);
  const newestFirst = database.prepare(
    "SELECT * FROM operator_list WHERE list = ? ORDER BY version DESC LIMIT ?",
  );
  const put = database.prepare(
    `INSERT INTO operator_list (list, version, file, sha256, size, holds, set_by, reason, set_at)
       SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9
       WHERE NOT EXISTS (SELECT 1 FROM operator_list WHERE list = ?1 AND version >= ?2)`,
  );
  const drop = database.prepare("DELETE FROM operator_list WHERE list = ? AND version <= ?");
  const begin = database.prepare("INSERT INTO operator_list_file (list, file, begun_at) VALUES (?, ?, ?)");
  const add = database.prepare(
    "INSERT INTO operator_list_bytes (list, file, part, bytes) VALUES (?, ?, ?, ?)",
  );
  const parts = database.prepare(
    "SELECT bytes FROM operator_list_bytes WHERE list = ? AND file = ? ORDER BY part",
  );
  const last = database.prepare(
    "SELECT max(part) AS part FROM operator_list_bytes WHERE list = ? AND file = ?",
  );
  const dropPart = database.prepare(
    "DELETE FROM operator_list_bytes WHERE list = ? AND file = ? AND part = ?",
  );
  const end = database.prepare("DELETE FROM operator_list_file WHERE list = ? AND file = ?");
  const unused = database.prepare(
    `SELECT file FROM operator_list_file AS f WHERE list = ? AND begun_at < ?
       AND NOT EXISTS (SELECT 1 FROM operator_list AS l WHERE l.list = f.list AND l.file = f.file)`,
  );
  const forget = async (list: string, file: string): Promise<void> => {
    for (;;) {
      const part = last.get(list, file)?.["part"];
      if (typeof part !== "number") break;
      await database.write(() => dropPart.run(list, file, part));
    }
    await database.write(() => end.run(list, file));
  };
  return {
    versions: async (list, limit) => newestFirst.all(list, limit).map(versionIn),
    read: async ({ list, file, size }) => {
      const bytes = concatBytes(...parts.all(list, file).map((part) => bytesOf(part["bytes"])));
      return bytes.length === size ? bytes : null;
    },
    set: async (next, bytes, keep) => {
      const { list, version, file, sha256, size, holds, by, reason, set_at } = next;
      await database.write(() => begin.run(list, file, now()));
      for (let part = 0; part * partBytes < bytes.length; part += 1) {
        const of = bytes.subarray(part * partBytes, (part + 1) * partBytes);
        await database.write(() => add.run(list, file, part, of));
      }
      const isSet = await database.write(() => {
        const { changes } = put.run(list, version, file, sha256, size, holds, by, reason, set_at);
        if (changes > 0 && keep !== null) drop.run(list, version - keep);
        return changes > 0;
      });
      if (!isSet) await forget(list, file);
      for (const row of unused.all(list, now() - abandonedAfterMs)) await forget(list, textOf(row["file"]));
      return isSet;
    },
  };
}

function versionIn(row: Row): ListVersion {
  return {
    list: textOf(row["list"]),
    version: numberOf(row["version"]),
    file: textOf(row["file"]),
    sha256: textOf(row["sha256"]),
    size: numberOf(row["size"]),
    holds: textOf(row["holds"]),
    by: textOf(row["set_by"]),
    reason: textOf(row["reason"]),
    set_at: textOf(row["set_at"]),
  };
}
