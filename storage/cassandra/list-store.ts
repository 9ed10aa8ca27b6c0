// Operators' lists in Cassandra: the port's obligations OL1–OL4.
//   LC1. A row names the bytes of a writer before they are written and until they are gone, so that those of a writer that died are found.
//   LC2. The row of a version is written last, if no other region has written its number: all regions agree on it.
//   LC3. What is tidied up after a version was set does not say whether it was: a failure of it is left to the next `set`.

import { concatBytes } from "../../protocol/bytes.ts";
import { Semaphore } from "../../std/semaphore.ts";
import { abandonedAfterMs, type ListStore, type ListVersion, StoreError } from "../list-store.ts";
import { bytesOf, numberOf, textOf } from "./columns.ts";
import { type CassandraSession, type CqlRow, executeAll, type StatementOptions } from "./session.ts";

const options = "gc_grace_seconds = 10800 AND compaction = {'class': 'UnifiedCompactionStrategy'}";

export const listTables: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS operator_list (
     list text, version int, file text, sha256 text, size int, holds text, set_by text, reason text, set_at text,
     PRIMARY KEY ((list), version)) WITH CLUSTERING ORDER BY (version DESC) AND ${options}`,
  `CREATE TABLE IF NOT EXISTS operator_list_file (
     list text, file text, begun_at bigint, PRIMARY KEY ((list), file)) WITH ${options}`,
  `CREATE TABLE IF NOT EXISTS operator_list_bytes (
     list text, file text, part int, bytes blob, PRIMARY KEY ((list, file), part)) WITH ${options}`,
];

const columns = "list, version, file, sha256, size, holds, set_by, reason, set_at";
const cql = {
  versions: `SELECT ${columns} FROM operator_list WHERE list = ? LIMIT ?`,
  put: `INSERT INTO operator_list (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) IF NOT EXISTS`,
  drop: "DELETE FROM operator_list WHERE list = ? AND version <= ?",
  used: "SELECT file FROM operator_list WHERE list = ?",
  begin: "INSERT INTO operator_list_file (list, file, begun_at) VALUES (?, ?, ?)",
  files: "SELECT file, begun_at FROM operator_list_file WHERE list = ?",
  end: "DELETE FROM operator_list_file WHERE list = ? AND file = ?",
  add: "INSERT INTO operator_list_bytes (list, file, part, bytes) VALUES (?, ?, ?, ?)",
  parts: "SELECT bytes FROM operator_list_bytes WHERE list = ? AND file = ?",
  dropBytes: "DELETE FROM operator_list_bytes WHERE list = ? AND file = ?",
} as const;

/** Bytes of one row: far below the engine's limits. */
const bytesPerRow = 256 * 1024;
const rowsPerPage = 8;
const lanesMax = 4;
const plain = { idempotent: true } as const;

export interface CassandraListStoreOptions {
  readonly now: () => number;
  /** Acknowledges a write only once other regions have it. */
  readonly replicateBeforeAck?: boolean;
}

export function openCassandraListStore(
  session: CassandraSession,
  { now, replicateBeforeAck = false }: CassandraListStoreOptions,
): ListStore {
  const consistency = replicateBeforeAck ? "EACH_QUORUM" : "LOCAL_QUORUM";
  const write: StatementOptions = { ...plain, consistency };
  /** See LC2. */
  const agreed: StatementOptions = { consistency, serial: "SERIAL", idempotent: false };
  const lanes = new Semaphore(lanesMax);
  const forget = async (list: string, file: string): Promise<void> => {
    await session.execute(cql.dropBytes, [list, file], write);
    await session.execute(cql.end, [list, file], write);
  };
  /** See OL4. */
  const tidy = async (list: string): Promise<void> => {
    const used = await executeAll(session, cql.used, [list], plain);
    const kept = new Set(used.map((row) => textOf(row["file"])));
    for (const row of await executeAll(session, cql.files, [list], plain)) {
      const file = textOf(row["file"]);
      if (!kept.has(file) && numberOf(row["begun_at"]) < now() - abandonedAfterMs) await forget(list, file);
    }
  };
  return {
    versions: async (list, limit) =>
      (await executeAll(session, cql.versions, [list, limit], plain)).map(versionIn),
    read: async ({ list, file, size }) => {
      const paged = { ...plain, fetchSize: rowsPerPage };
      const rows = await executeAll(session, cql.parts, [list, file], paged);
      const bytes = concatBytes(...rows.map((row) => bytesOf(row["bytes"])));
      if (bytes.length === size) return bytes;
      const named = await executeAll(session, cql.used, [list], plain);
      if (!named.some((row) => row["file"] === file)) return null;
      throw new StoreError("not_applied", `the bytes of the list ${list} are not readable here yet`);
    },
    set: async (next, bytes, keep) => {
      const { list, version, file, sha256, size, holds, by, reason, set_at } = next;
      const [newest] = (await session.execute(cql.versions, [list, 1], plain)).rows;
      if (newest !== undefined && numberOf(newest["version"]) >= version) return false;
      await session.execute(cql.begin, [list, file, now()], write);
      const parts = Array.from({ length: Math.ceil(bytes.length / bytesPerRow) }, (_, part) => part);
      const partOf = (part: number) => bytes.slice(part * bytesPerRow, (part + 1) * bytesPerRow);
      await lanes.all(
        parts.map((part) => () => session.execute(cql.add, [list, file, part, partOf(part)], write)),
      );
      const row = [list, version, file, sha256, size, holds, by, reason, set_at];
      const { applied } = await session.execute(cql.put, row, agreed);
      const after = async (): Promise<void> => {
        if (!applied) await forget(list, file);
        else if (keep !== null && version > keep)
          await session.execute(cql.drop, [list, version - keep], write);
        await tidy(list);
      };
      // See LC3.
      await after().catch(() => undefined);
      return applied;
    },
  };
}

function versionIn(row: CqlRow): ListVersion {
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
