// The keyspace: in which regions' data centres its rows are stored, and how many copies in each.
//   K1. A region that is lost for good is taken out before it is declared dead: operations that need a majority of all
//       regions (homes, standings, the schema) then need a majority of the remaining ones. Anything its data centre still
//       holds is cleared before it is put in again, or it would bring back old rows.

import { StoreError } from "../actor-store.ts";
import { type CassandraConnection, type CassandraSession, openCassandraSession } from "./session.ts";

/** Number of copies by data centre; a data centre has the name of its region. */
export type Replication = Readonly<Record<string, number>>;

const strategy = "NetworkTopologyStrategy";

/**
 * Creates the keyspace if there is none; an existing one is left unchanged, because changing where rows are stored is an
 * operator's task. Any number of nodes may call it at once. Returns the current replication. Throws {@link StoreError} if
 * the keyspace has no copy in this region's data centre.
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

/**
 * Number of copies of a keyspace by data centre. Throws {@link StoreError} if the keyspace does not exist or is of another
 * kind.
 */
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

/** Takes a lost region out of the keyspace (K1). Idempotent. The session must belong to another region. */
export async function takeOutRegion(session: CassandraSession, region: string): Promise<void> {
  const { [region]: gone, ...rest } = await readReplication(session, session.keyspace);
  if (gone === undefined) return;
  if (Object.keys(rest).length === 0) throw new StoreError("not_applied", `${region} is the only region`);
  await alter(session, rest);
}

/** Puts a region in (again). Its data centre must then be filled (`nodetool rebuild`) before nodes start there. */
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
