// The keyspace: in which regions' data centres its rows are kept, and how many copies in each.
//   K1. A region that is lost for good is taken out before it is declared dead: what needs a majority of all regions
//       (homes, standings, the schema) then needs one of those that are left. What its data centre still holds is
//       cleared before it is put in again, or it would bring back rows of before.

import { StoreError } from "../actor-store.ts";
import { type CassandraConnection, type CassandraSession, openCassandraSession } from "./session.ts";

/** Copies by data centre; a data centre has its region's name. */
export type Replication = Readonly<Record<string, number>>;

const strategy = "NetworkTopologyStrategy";

/**
 * Creates the keyspace where there is none; one that is there stays as it is, for changing where rows are kept is an
 * operator's act. Any number of nodes may do so at once. Returns what is in force. Throws {@link StoreError} when the
 * keyspace has no copy in this region's data centre.
 */
export async function ensureKeyspace(
  connection: CassandraConnection,
  keyspace: string,
  replication: Replication,
): Promise<Replication> {
  const session = await openCassandraSession({ ...connection, keyspace: "" });
  try {
    const create = `CREATE KEYSPACE IF NOT EXISTS ${assertName(keyspace)} WITH replication = ${toCql(replication)}`;
    if ((await findReplication(session, keyspace)) === null) await session.define(create);
    const stored = await readReplication(session, keyspace);
    if ((stored[connection.localDc] ?? 0) < 1) {
      const where = Object.keys(stored).join(", ");
      const message = `keyspace ${keyspace} has no copy in data centre ${connection.localDc}, only in ${where}`;
      throw new StoreError("not_applied", message);
    }
    return stored;
  } finally {
    await session.close();
  }
}

/** Copies of a keyspace by data centre. Throws {@link StoreError} when there is no such keyspace, or one of another kind. */
export async function readReplication(session: CassandraSession, keyspace: string): Promise<Replication> {
  const found = await findReplication(session, keyspace);
  if (found === null) throw new StoreError("not_applied", `there is no keyspace ${keyspace}`);
  return found;
}

async function findReplication(session: CassandraSession, keyspace: string): Promise<Replication | null> {
  const cql =
    "SELECT toJson(replication) AS replication FROM system_schema.keyspaces WHERE keyspace_name = ?";
  const { rows } = await session.execute(cql, [keyspace], { consistency: "LOCAL_ONE", idempotent: true });
  const text = rows[0]?.["replication"];
  if (typeof text !== "string") return null;
  const { class: name, ...copies } = JSON.parse(text) as Record<string, string>;
  if (name?.endsWith(`.${strategy}`) !== true) {
    throw new StoreError("not_applied", `keyspace ${keyspace} is not replicated by ${strategy}`);
  }
  return Object.fromEntries(Object.entries(copies).map(([region, factor]) => [region, Number(factor)]));
}

/** Takes a lost region out of the keyspace (K1). Repeatable. The session must be another region's. */
export async function takeOutRegion(session: CassandraSession, region: string): Promise<void> {
  const { [region]: gone, ...rest } = await readReplication(session, session.keyspace);
  if (gone === undefined) return;
  if (Object.keys(rest).length === 0) throw new StoreError("not_applied", `${region} is the only region`);
  await alter(session, rest);
}

/** Puts a region in (again). Its data centre then has to be filled (`nodetool rebuild`) before nodes start there. */
export async function putInRegion(session: CassandraSession, region: string, copies: number): Promise<void> {
  await alter(session, { ...(await readReplication(session, session.keyspace)), [region]: copies });
}

async function alter(session: CassandraSession, replication: Replication): Promise<void> {
  await session.define(
    `ALTER KEYSPACE ${assertName(session.keyspace)} WITH replication = ${toCql(replication)}`,
  );
}

function toCql(replication: Replication): string {
  const copies = Object.entries(replication).map(([region, factor]) => {
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(region) || !Number.isInteger(factor) || factor < 1) {
      throw new Error(`no data centre can be named ${region} or have ${factor} copies`);
    }
    return `, '${region}': ${factor}`;
  });
  return `{'class': '${strategy}'${copies.join("")}}`;
}

function assertName(keyspace: string): string {
  if (!/^[a-z][a-z0-9_]{0,47}$/.test(keyspace)) throw new Error(`no keyspace can be named ${keyspace}`);
  return keyspace;
}
