// Entries of the register as rows, and the statements that read a single entry.

import { type RegisterEntry, type RegisterTable, registerTables } from "../register-store.ts";
import { numberOf, textOf } from "./columns.ts";
import type { CassandraSession, Consistency, CqlRow } from "./session.ts";

export const entryColumns = "tbl, key, party, change, body";

const cql = {
  get: `SELECT ${entryColumns} FROM register_entry WHERE tbl = ? AND key = ?`,
  changeInList: "SELECT change FROM register_of_party WHERE tbl = ? AND party = ? AND key = ?",
} as const;

export async function readEntry(
  session: CassandraSession,
  table: RegisterTable,
  key: string,
  consistency: Consistency = "LOCAL_QUORUM",
): Promise<RegisterEntry | null> {
  const { rows } = await session.execute(cql.get, [table, key], { consistency, idempotent: true });
  return rows[0] === undefined ? null : entryOf(rows[0]);
}

/** The change at which the party's list has the entry; -1 if the list does not have it. */
export async function readChangeInList(session: CassandraSession, entry: RegisterEntry): Promise<number> {
  const params = [entry.table, entry.partition, entry.key];
  const { rows } = await session.execute(cql.changeInList, params, { idempotent: true });
  return rows[0] === undefined ? -1 : numberOf(rows[0]["change"]);
}

export function entryOf(row: CqlRow): RegisterEntry {
  return {
    table: tableOf(row["tbl"]),
    partition: textOf(row["party"]),
    key: textOf(row["key"]),
    change: numberOf(row["change"]),
    body: textOf(row["body"]),
  };
}

export function tableOf(column: CqlRow[string] | undefined): RegisterTable {
  const table = registerTables.find((each) => each === column);
  if (table === undefined) throw new TypeError("a register entry is of no known table");
  return table;
}
