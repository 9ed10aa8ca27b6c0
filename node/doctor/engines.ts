// Cassandra and Elasticsearch as they really are: reached with the node's settings, and probed with what an attacker would
// try first.

import { migrations, readSchemaVersion } from "../../storage/cassandra/migrations.ts";
import {
  type CassandraConnection,
  type CassandraSession,
  openCassandraSession,
} from "../../storage/cassandra/session.ts";
import { Engine, EngineRefusal } from "../../storage/elasticsearch/engine.ts";
import type { ElasticRowIndexOptions } from "../../storage/elasticsearch/row-index.ts";
import type { ClusterSecrets } from "../cluster-config.ts";
import type { NodeConfig } from "../config.ts";
import { connectionOf, indexOptions } from "../stores.ts";
import { type Finding, findingsOf } from "./finding.ts";

/** Nodes whose clocks differ by twice as much do not join. */
const clockMaxMs = 1_000;
const plain = { consistency: "LOCAL_ONE", idempotent: true } as const;

export async function engineFindings(
  { cluster, region }: NodeConfig,
  secrets: ClusterSecrets | null,
  now: () => number,
): Promise<readonly Finding[]> {
  if (cluster === null || secrets === null) return [];
  const { keyspace } = cluster.cassandra;
  const cassandra = findingsOf("database_unreachable", "SVC_CASSANDRA", async () =>
    cassandraFindings(await connectionOf(cluster, secrets, region), { keyspace, now }),
  );
  const elastic = findingsOf("database_unreachable", "SVC_ELASTICSEARCH", async () =>
    elasticFindings(await indexOptions(cluster, secrets, region)),
  );
  return [...(await cassandra), ...(await elastic)];
}

async function cassandraFindings(
  connection: CassandraConnection,
  { keyspace, now }: { readonly keyspace: string; readonly now: () => number },
): Promise<readonly Finding[]> {
  const where = "SVC_CASSANDRA";
  const { credentials, ...stranger } = connection;
  const findings: Finding[] = [];
  const first = { username: "cassandra", password: "cassandra" };
  if (await lets(stranger)) {
    findings.push(openTo(where, "Set authenticator and authorizer in cassandra.yaml (docs/production.md)."));
  } else if (await lets({ ...stranger, credentials: first })) {
    findings.push({
      ...{ code: "default_user", where },
      problem: "accepts the first superuser with its initial password",
      fix: "Create your own superuser, then run: ALTER ROLE cassandra WITH PASSWORD = '…' AND SUPERUSER = false AND LOGIN = false.",
    });
  }
  await using session = await asDisposable(openCassandraSession({ ...connection, keyspace: "" }));
  findings.push(...(await clockFindings(session.session, now)));
  if (credentials !== undefined && (await isSuperuser(session.session, credentials.username)))
    findings.push(superuser("SVC_CASSANDRA_USERNAME", credentials.username));
  return [...findings, ...(await schemaFindings(connection, session.session, keyspace))];
}

async function asDisposable(opened: Promise<CassandraSession>) {
  const session = await opened;
  return { session, [Symbol.asyncDispose]: () => session.close() };
}

async function lets(connection: CassandraConnection): Promise<boolean> {
  try {
    await using _session = await asDisposable(openCassandraSession({ ...connection, keyspace: "" }));
    return true;
  } catch {
    return false;
  }
}

async function clockFindings(session: CassandraSession, now: () => number): Promise<readonly Finding[]> {
  const beforeMs = now();
  const cql = "SELECT toUnixTimestamp(now()) AS at FROM system.local";
  const { rows } = await session.execute(cql, [], plain);
  const offMs = Math.abs(Number(rows[0]?.["at"]) - (beforeMs + now()) / 2);
  return offMs > clockMaxMs ? [clockOff("SVC_CASSANDRA", offMs)] : [];
}

export function clockOff(where: string, offMs: number): Finding {
  return {
    ...{ code: "clock_off", where },
    problem: `has a clock that is ${Math.round(offMs)} ms from this machine's`,
    fix: "Synchronize both with NTP, and raise an alarm at 100 ms.",
  };
}

/** A role that may not read this table is not a superuser. */
async function isSuperuser(session: CassandraSession, role: string): Promise<boolean> {
  try {
    const cql = "SELECT is_superuser FROM system_auth.roles WHERE role = ?";
    const { rows } = await session.execute(cql, [role], plain);
    return rows[0]?.["is_superuser"] === true;
  } catch {
    return false;
  }
}

async function schemaFindings(
  connection: CassandraConnection,
  outside: CassandraSession,
  keyspace: string,
): Promise<readonly Finding[]> {
  const cql =
    "SELECT table_name FROM system_schema.tables WHERE keyspace_name = ? AND table_name = 'schema_state'";
  const { rows } = await outside.execute(cql, [keyspace], plain);
  // The first node creates it.
  if (rows.length === 0) return [];
  await using inside = await asDisposable(openCassandraSession({ ...connection, keyspace }));
  const stored = await readSchemaVersion(inside.session);
  if (stored <= migrations.length) return [];
  return [
    {
      ...{ code: "schema_newer", where: "SVC_CASSANDRA_KEYSPACE" },
      problem: `has schema version ${stored}, but this release knows versions up to ${migrations.length}`,
      fix: "Start a newer release; this one would overwrite what it does not know.",
    },
  ];
}

const whoAmI = { method: "GET", path: "/_security/_authenticate" } as const;

async function elasticFindings(options: ElasticRowIndexOptions): Promise<readonly Finding[]> {
  const where = "SVC_ELASTICSEARCH";
  const { auth, ...stranger } = options;
  if (!(await refuses(stranger)))
    return [
      openTo(where, "Set xpack.security.enabled in elasticsearch.yml, and do not allow anonymous access."),
    ];
  await using engine = new Engine(options);
  const who = (await engine.read(whoAmI)) as { readonly roles?: readonly string[] };
  if (auth === undefined || !("username" in auth) || who.roles?.includes("superuser") !== true) return [];
  return [superuser("SVC_ELASTICSEARCH_USERNAME", auth.username)];
}

/** Whether a cluster asks an anonymous caller for a password. One without security does not know the endpoint. */
async function refuses(options: ElasticRowIndexOptions): Promise<boolean> {
  await using engine = new Engine(options);
  try {
    await engine.read(whoAmI);
    return false;
  } catch (error) {
    if (error instanceof EngineRefusal) return false;
    const { cause } = error as Error;
    if (typeof cause === "object" && cause !== null && "statusCode" in cause) return cause.statusCode === 401;
    throw error;
  }
}

function openTo(where: string, fix: string): Finding {
  return { code: "database_open", where, problem: "answers anybody without a password", fix };
}

function superuser(where: string, name: string): Finding {
  return {
    ...{ code: "database_superuser", where },
    problem: `is ${name}, a superuser: an attacker who takes over a node would control the whole engine`,
    fix: "Give the nodes the role of docs/hardening.md.",
  };
}
