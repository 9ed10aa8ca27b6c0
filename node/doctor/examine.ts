// The doctor: finds every unsafe setting of a production node, from its start configuration and from what is running.
//   D1. Nothing is started, created or changed.
//   D2. The engines hear nothing that the node itself would not send: they are asked only with settings that the node
//       accepts.
//   D3. Everything that a node would refuse is a finding, and all of them are reported, not just the first.

import { stat } from "node:fs/promises";
import { request } from "node:http";
import { FileKeyStore } from "../../crypto/key-store.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { windowFault } from "../../protocol/keys/signatures.ts";
import { Unavailable } from "../../std/unavailable.ts";
import { migrations, readSchemaVersion } from "../../storage/cassandra/migrations.ts";
import {
  type CassandraConnection,
  type CassandraSession,
  openCassandraSession,
} from "../../storage/cassandra/session.ts";
import { Engine, EngineRefusal } from "../../storage/elasticsearch/engine.ts";
import type { ElasticRowIndexOptions } from "../../storage/elasticsearch/row-index.ts";
import { connectionOf, indexOptions } from "../composition/engine-stores.ts";
import { loadNodeKeys, type NodeKeys } from "../composition/node-keys.ts";
import type { ClusterSecrets } from "../configuration/cluster-config.ts";
import type { NodeConfig } from "../configuration/config.ts";
import type { Env } from "../configuration/config-error.ts";
import { type HeldUse, nodeUses } from "../keys/working-keys.ts";
import { fileFindings, soonMs } from "./files.ts";
import { type Finding, findingsOf } from "./finding.ts";
import { readSettings } from "./settings.ts";

export type { Finding } from "./finding.ts";

export interface Examination {
  /** The node's environment: its SVC_… settings and those of the runtime. */
  readonly env: Env;
  readonly now: () => number;
  /** Whether Cassandra and Elasticsearch are examined. */
  readonly engines: boolean;
  /** The operations surface of a running node; null for none. */
  readonly node: URL | null;
}

/** Resolves with an empty list if nothing is unsafe. */
export async function examine({ env, now, engines, node }: Examination): Promise<readonly Finding[]> {
  const { config, secrets, findings } = readSettings(env);
  if (config === null) return findings;
  // Refused settings have stand-ins here, so engines are not contacted: a password might go out unencrypted.
  const isWhole = !findings.some(({ code }) => code === "setting_refused");
  return [
    ...findings,
    ...(await fileFindings(config, now())),
    ...(await keyFindings(config, now())),
    ...(engines && isWhole ? await engineFindings(config, secrets, now) : []),
    ...(node === null ? [] : await runningFindings(node, now)),
  ];
}

// The keys of a node as it would find them when it starts, and whether they will still be valid in a month.

/** Nothing is created: a missing folder stays missing. */
async function keyFindings(config: NodeConfig, nowMs: number): Promise<readonly Finding[]> {
  if ((await stat(config.keys).catch(() => null)) === null) {
    return [
      {
        code: "keys_refused",
        where: config.keys,
        problem: "does not exist",
        fix: "Make the keys as docs/keys.md describes, and name their folder in SVC_KEYS.",
      },
    ];
  }
  return await findingsOf("keys_refused", config.keys, async () => {
    const store = await FileKeyStore.open(config.keys);
    const keys = await loadNodeKeys(config, store, { now: () => nowMs });
    return [...endings(keys, nowMs), ...logKeyFindings(config, keys, nowMs)];
  });
}

/** The log's home is the first region that is not lost; without its key it stands still there. */
function logKeyFindings(
  { cluster, region }: Pick<NodeConfig, "cluster" | "region">,
  { currentKeys }: NodeKeys,
  nowMs: number,
): readonly Finding[] {
  if (canSign(currentKeys, "log", formatTimestamp(nowMs))) return [];
  const isHome = cluster === null || cluster.regions[0] === region;
  return [
    {
      code: "log_key_missing",
      where: "log key",
      problem: isHome
        ? "is not here, and this is the home region of the transparency log: nothing is logged"
        : "is not here, so this region cannot take the transparency log over",
      fix: "Make it with `svc keys create-working --role log` (docs/keys.md), or copy that of the log's home.",
      warning: true,
    },
  ];
}

function canSign(currentKeys: NodeKeys["currentKeys"], use: HeldUse, at: string): boolean {
  try {
    currentKeys.signerAt(use)(at);
    return true;
  } catch (error) {
    if (error instanceof Unavailable) return false;
    throw error;
  }
}

function endings({ currentKeys, trust }: NodeKeys, nowMs: number): readonly Finding[] {
  const at = formatTimestamp(nowMs + soonMs);
  const working = nodeUses.filter((use) => !canSign(currentKeys, use, at));
  const listed = [...trust().keys.values()];
  const certifying = (["issuance", "root"] as const).filter(
    (use) => !listed.some((entry) => entry.use === use && windowFault(entry, at) === null),
  );
  return [...working, ...certifying].map((use) => ({
    code: "key_ends",
    where: `${use} key`,
    problem: `ends within ${soonMs / 86_400_000} days, and no other follows it`,
    fix: "Issue the next key set with a new one (docs/keys.md).",
  }));
}

// A running node, probed at its operations surface: whether it is ready, and whether it refuses the callers that it must
// refuse.

const answerMaxMs = 5_000;
const bytesMax = 1_048_576;
/** HTTP dates have a resolution of one second. */
const clockMaxMs = 2_000;

interface Answer {
  readonly status: number;
  readonly date: string;
  readonly text: string;
}

export function runningFindings(url: URL, now: () => number): Promise<readonly Finding[]> {
  const where = url.origin;
  return findingsOf("node_unreachable", where, async () => [
    ...(await readyFindings(url, now)),
    ...(await listFindings(url)),
    ...(await guardFindings(url)),
  ]);
}

async function readyFindings(url: URL, now: () => number): Promise<readonly Finding[]> {
  const where = url.origin;
  const answer = await ask(url, { path: "/readyz" });
  const findings: Finding[] = [];
  const offMs = Math.abs(Date.parse(answer.date) - now());
  if (offMs > clockMaxMs) findings.push(clockOff(where, offMs));
  const report = parsed(answer.text);
  if (report === null) throw new Error(`answers /readyz with ${answer.status}, but not with a node's report`);
  for (const [name, said] of Object.entries(report.checks)) {
    if (said === "ok") continue;
    const fix = "See docs/production.md, «What each failure does».";
    findings.push({ code: "node_not_ready", where, problem: `reports about ${name}: ${said}`, fix });
  }
  for (const channel of report.plain_text) {
    findings.push({
      code: "plain_text_allowed",
      where,
      problem: `speaks to ${channel} in the clear`,
      fix: "Set up TLS on that channel (docs/production.md), unset its …_INSECURE, and restart the node.",
    });
  }
  return findings;
}

function parsed(
  text: string,
): { readonly checks: Readonly<Record<string, string>>; readonly plain_text: readonly string[] } | null {
  try {
    const value = JSON.parse(text);
    return typeof value?.checks === "object" && Array.isArray(value.plain_text) ? value : null;
  } catch {
    return null;
  }
}

/** Of a node that shows its lists to anybody on its machine. */
async function listFindings(url: URL): Promise<readonly Finding[]> {
  const { status, text } = await ask(url, { path: "/ops/lists" });
  const lists = status === 200 ? listsIn(text) : [];
  return lists
    .filter(({ unused_file }) => unused_file === true)
    .map(({ list }) => ({
      code: "list_file_unused",
      where: url.origin,
      problem: `does not use the file that its settings name for ${String(list)}, because operators set that list`,
      fix: "Unset the setting; `svc ops lists` shows what is in force.",
      warning: true,
    }));
}

function listsIn(text: string): readonly Readonly<Record<string, unknown>>[] {
  try {
    const { lists } = JSON.parse(text);
    return Array.isArray(lists) ? lists : [];
  } catch {
    return [];
  }
}

/** The probe would change nothing even if it were answered. */
async function guardFindings(url: URL): Promise<readonly Finding[]> {
  const where = url.origin;
  const findings: Finding[] = [];
  const foreign = await ask(url, { path: "/ops/actors/business", host: "attacker.example" });
  if (foreign.status !== 421) {
    findings.push({
      code: "ops_unguarded",
      where,
      problem: `answers ${foreign.status} to a request for another host, as a page in an operator's browser could send it`,
      fix: "Run this release on the node; put nothing in front of the surface that rewrites Host.",
    });
  }
  const unsigned = await ask(url, { path: "/ops/cluster/moves", method: "POST" });
  if (unsigned.status !== 401) {
    findings.push({
      code: "ops_unguarded",
      where,
      problem: `answers ${unsigned.status} to an act without a token`,
      fix: "Run this release on the node; put nothing in front of the surface that adds the token.",
    });
  }
  return findings;
}

function ask(
  url: URL,
  asked: { readonly path: string; readonly method?: string; readonly host?: string },
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const options = {
    method: asked.method ?? "GET",
    headers: { host: asked.host ?? url.host, "content-length": "0" },
    timeout: answerMaxMs,
    agent: false as const,
  };
  const sent = request(new URL(asked.path, url), options, (answer) => {
    let text = "";
    answer.setEncoding("utf8");
    answer.on("data", (chunk: string) => {
      text += chunk;
      if (text.length > bytesMax) sent.destroy(new Error("sends a longer answer than a node would"));
    });
    answer.on("end", () =>
      resolve({ status: answer.statusCode ?? 0, date: answer.headers.date ?? "", text }),
    );
  });
  sent.on("timeout", () => sent.destroy(new Error("does not answer in time")));
  sent.on("error", reject);
  sent.end();
  return promise;
}

// Cassandra and Elasticsearch as they really are: reached with the node's settings, and probed with what an attacker would
// try first.

/** Nodes whose clocks differ by twice as much do not join. */
const clusterClockMaxMs = 1_000;
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
      code: "default_user",
      where,
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
  return offMs > clusterClockMaxMs ? [clockOff("SVC_CASSANDRA", offMs)] : [];
}

function clockOff(where: string, offMs: number): Finding {
  return {
    code: "clock_off",
    where,
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
      code: "schema_newer",
      where: "SVC_CASSANDRA_KEYSPACE",
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
    code: "database_superuser",
    where,
    problem: `is ${name}, a superuser: an attacker who takes over a node would control the whole engine`,
    fix: "Give the nodes the role of docs/hardening.md.",
  };
}
