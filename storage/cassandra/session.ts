// A connection to Cassandra as the stores here use it: prepared statements in, plain values out, and every failure is a
// StoreError that says whether the statement may have been applied.
//   C1. The driver never sends a non-idempotent statement twice: a retry is the caller's decision (A5).
//   C2. A failure is `not_applied` only when that is certain: nothing was sent, the statement was refused before it began,
//       or it was a read. Everything else is `unknown`, above all the time-out of a conditional write.
//   C3. Values are plain: bigint columns are safe integers, uuid columns are lower-case text, blobs are Uint8Array.
//   C4. A session that is closed finishes what is under way, within a time limit, and sends nothing more.

import { Buffer } from "node:buffer";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { type ConnectionOptions, checkServerIdentity } from "node:tls";
import cassandra from "cassandra-driver";
import { StoreError } from "../actor-store.ts";

export type CqlScalar = string | number | boolean | null | Uint8Array;
/** `undefined` leaves a column unset, which differs from null: null writes a tombstone. */
export type CqlParam = CqlScalar | undefined | readonly CqlScalar[];
export type CqlRow = Readonly<Record<string, CqlScalar | readonly CqlScalar[]>>;

export type Consistency =
  | "LOCAL_ONE"
  | "LOCAL_QUORUM"
  | "QUORUM"
  | "EACH_QUORUM"
  | "ALL"
  /** For reads only: they see, and complete, conditional writes that are under way. */
  | "LOCAL_SERIAL"
  | "SERIAL";

export interface StatementOptions {
  /** Level of the read, or of a (conditional) write's commit; LOCAL_QUORUM by default. */
  readonly consistency?: Consistency;
  /** Where a conditional write is agreed on; LOCAL_SERIAL by default. */
  readonly serial?: "LOCAL_SERIAL" | "SERIAL";
  /** Whether the driver may retry the statement on its own (C1): never for conditional writes. */
  readonly idempotent: boolean;
}

export interface ReadOptions extends StatementOptions {
  /** Rows per page; by default the driver's 5,000. */
  readonly fetchSize?: number;
  /** The end of the previous page. */
  readonly pageState?: string;
}

export interface Statement {
  readonly cql: string;
  readonly params: readonly CqlParam[];
}

export interface CqlResult {
  readonly rows: readonly CqlRow[];
  readonly pageState: string | null;
  /** `[applied]` of a conditional write; true for everything else. */
  readonly applied: boolean;
}

export interface CassandraSession {
  readonly keyspace: string;
  /** Name of the data centre that this session uses, which is the region's name. */
  readonly localDc: string;
  /** Prepares `cql` once and executes it; for a read, one page. Throws {@link StoreError} (C2). */
  execute(cql: string, params: readonly CqlParam[], options: ReadOptions): Promise<CqlResult>;
  /**
   * Executes one unlogged batch; all statements must name the same partition, because nothing else is atomic without a
   * log.
   */
  batch(statements: readonly Statement[], options: StatementOptions): Promise<CqlResult>;
  /**
   * Changes the schema, and waits until all nodes know of it. `settle: false` leaves the waiting to the last change of a
   * series. Throws {@link StoreError}.
   */
  define(cql: string, options?: { readonly settle: boolean }): Promise<void>;
  close(): Promise<void>;
}

/** `host` or `host:port`. */
export type ContactPoint = string;

export interface CassandraConnection {
  readonly contactPoints: readonly ContactPoint[];
  readonly localDc: string;
  readonly credentials?: { readonly username: string; readonly password: string };
  readonly tls?: CassandraTls;
  /** How long to wait for an answer; longer than the server's own time-outs, so that those come first. */
  readonly readTimeoutMs?: number;
}

const readTimeoutMs = 8_000;
/** How long what is under way may take when the session is closed (C4). */
const closeMaxMs = 5_000;

/** Connects. Throws {@link StoreError} `not_applied` when no contact point answers or the data centre is unknown. */
export async function openCassandraSession(
  connection: CassandraConnection & { readonly keyspace: string },
): Promise<CassandraSession> {
  const client = clientOf(connection, connection.keyspace);
  try {
    await client.connect();
  } catch (error) {
    await client.shutdown().catch(() => undefined);
    throw new StoreError("not_applied", `Cassandra cannot be reached: ${wordsOf(error, connection)}`, {
      cause: error,
    });
  }
  return sessionOn(client, connection);
}

/** Reads all pages, up to `rowsMax` rows. */
export async function executeAll(
  session: CassandraSession,
  cql: string,
  params: readonly CqlParam[],
  options: ReadOptions & { readonly rowsMax?: number },
): Promise<readonly CqlRow[]> {
  const { rowsMax = Number.POSITIVE_INFINITY, ...read } = options;
  let page = await session.execute(cql, params, read);
  if (page.pageState === null) return page.rows;
  const rows = [...page.rows];
  while (page.pageState !== null && rows.length < rowsMax) {
    page = await session.execute(cql, params, { ...read, pageState: page.pageState });
    for (const row of page.rows) rows.push(row);
  }
  return rows;
}

function clientOf(connection: CassandraConnection, keyspace: string): cassandra.Client {
  const { contactPoints, localDc, credentials, tls } = connection;
  const timeoutMs = connection.readTimeoutMs ?? readTimeoutMs;
  return new cassandra.Client({
    contactPoints: [...contactPoints],
    localDataCenter: localDc,
    ...(keyspace === "" ? {} : { keyspace }),
    ...(credentials === undefined ? {} : { credentials: { ...credentials } }),
    ...(tls === undefined ? {} : { sslOptions: tlsOptions(tls) }),
    policies: { retry: retryPolicy },
    pooling: { coreConnectionsPerHost: { [cassandra.types.distance.local]: 2 }, warmup: true },
    socketOptions: { readTimeout: timeoutMs, tcpNoDelay: true },
    // We settle schema changes ourselves, see schema-agreement.
    protocolOptions: { maxSchemaAgreementWaitSeconds: 0 },
    monitorReporting: { enabled: false },
  });
}

function sessionOn(
  client: cassandra.Client,
  connection: SessionHosts & { readonly keyspace: string },
): CassandraSession {
  const { keyspace, localDc } = connection;
  const schema = new SchemaChanges(client, localDc);
  let underWay = 0;
  /** Resolved when nothing is under way any more; null until the session is being closed. */
  let idle: PromiseWithResolvers<void> | null = null;
  const tellIdle = (): void => {
    if (underWay === 0) idle?.resolve();
  };
  const send = async <T>(isRead: boolean, work: () => Promise<T>): Promise<T> => {
    if (idle !== null) throw new StoreError("not_applied", "Cassandra: the session is closed");
    underWay += 1;
    try {
      return await work();
    } catch (error) {
      throw toStoreError(error, { isRead, hosts: connection });
    } finally {
      underWay -= 1;
      tellIdle();
    }
  };
  return {
    keyspace,
    localDc,
    execute: async (cql, params, options) => {
      const { fetchSize, pageState } = options;
      const query: cassandra.QueryOptions = { ...queryOptions(options), autoPage: false };
      if (fetchSize !== undefined) query.fetchSize = fetchSize;
      if (pageState !== undefined) query.pageState = pageState;
      const isRead = cql.startsWith("SELECT");
      return send(isRead, async () => toResult(await client.execute(cql, params.map(toDriver), query)));
    },
    batch: async (statements, options) => {
      const queries = statements.map(({ cql, params }) => ({ query: cql, params: params.map(toDriver) }));
      return send(false, async () =>
        toResult(await client.batch(queries, { ...queryOptions(options), logged: false })),
      );
    },
    define: (cql, options) =>
      send(false, async () => {
        await schema.define(cql);
        if (options?.settle !== false) await schema.settle();
      }),
    /** See C4. */
    close: async () => {
      idle = Promise.withResolvers();
      tellIdle();
      const patience = new AbortController();
      const late = delay(closeMaxMs, undefined, { signal: patience.signal }).catch(() => {});
      await Promise.race([idle.promise, late]);
      patience.abort();
      await client.shutdown();
    },
  };
}

const { consistencies } = cassandra.types;
const levels: Readonly<Record<Consistency, cassandra.types.consistencies>> = {
  LOCAL_ONE: consistencies.localOne,
  LOCAL_QUORUM: consistencies.localQuorum,
  QUORUM: consistencies.quorum,
  EACH_QUORUM: consistencies.eachQuorum,
  ALL: consistencies.all,
  LOCAL_SERIAL: consistencies.localSerial,
  SERIAL: consistencies.serial,
};

function queryOptions(options: StatementOptions): cassandra.QueryOptions {
  return {
    prepare: true,
    consistency: levels[options.consistency ?? "LOCAL_QUORUM"],
    serialConsistency: levels[options.serial ?? "LOCAL_SERIAL"],
    isIdempotent: options.idempotent,
  };
}

function toDriver(param: CqlParam): unknown {
  if (param instanceof Uint8Array && !Buffer.isBuffer(param)) {
    return Buffer.from(param.buffer, param.byteOffset, param.byteLength);
  }
  return param;
}

function toResult(result: cassandra.types.ResultSet): CqlResult {
  const rows = result.rows ?? [];
  return { rows: rows.map(toRow), pageState: result.pageState ?? null, applied: result.wasApplied() };
}

function toRow(row: cassandra.types.Row): CqlRow {
  const plain: Record<string, CqlScalar | readonly CqlScalar[]> = {};
  for (const name of row.keys()) plain[name] = toPlain(row.get(name));
  return plain;
}

function toPlain(value: unknown): CqlScalar | readonly CqlScalar[] {
  if (value === null || value === undefined) return null;
  switch (typeof value) {
    case "string":
    case "number":
    case "boolean":
      return value;
  }
  if (value instanceof cassandra.types.Long) return safeInteger(value.toNumber());
  if (value instanceof cassandra.types.Uuid) return value.toString();
  if (value instanceof Uint8Array) return value;
  if (value instanceof Date) return value.getTime();
  if (Array.isArray(value)) return value.map((item) => toPlain(item) as CqlScalar);
  throw new Error(`a column of a type that no table here has: ${String(value)}`);
}

function safeInteger(number: number): number {
  if (!Number.isSafeInteger(number)) throw new Error(`the stored number ${number} is not a safe integer`);
  return number;
}

// Schema changes, and waiting until all nodes know of them.
//   G1. All changes of a session go through one node, so that each change sees the results of the ones before it.
//   G2. A change is settled once every node that is up has the same schema. Nodes inform each other by gossip, about once
//       a second, so a series of changes is settled once, at its end.

const defineTimeoutMs = 60_000;
/** A Cassandra node that missed a change asks for it again only after a minute. */
const settleMs = 150_000;
const pollMs = 50;
/** Gossip has had its time: nodes that still disagree are checked for being up at all. */
const suspectMs = 3_000;
const probeMs = 1_000;

class SchemaChanges {
  readonly #client: cassandra.Client;
  readonly #localDc: string;
  #host: cassandra.Host | null = null;

  constructor(client: cassandra.Client, localDc: string) {
    this.#client = client;
    this.#localDc = localDc;
  }

  async define(cql: string): Promise<void> {
    const options = { prepare: false, isIdempotent: false, readTimeout: defineTimeoutMs };
    await this.#client.execute(cql, [], { ...options, host: this.#defining() });
  }

  /** G2. Throws StoreError `unknown` when the nodes do not reach agreement. */
  async settle(): Promise<void> {
    const startMs = performance.now();
    for (;;) {
      const others = await this.#disagreeing();
      if (others.length === 0) return;
      const waitedMs = performance.now() - startMs;
      // A session that began after a node's end is never notified that the node is down.
      if (waitedMs > suspectMs && !(await Promise.all(others.map(isListening))).includes(true)) return;
      if (waitedMs > settleMs) {
        throw new StoreError("unknown", "the nodes of Cassandra do not agree on the schema");
      }
      await delay(pollMs);
    }
  }

  /** See G1. */
  #defining(): cassandra.Host {
    if (this.#host?.isUp() !== true) {
      const hosts = this.#client.hosts.values();
      this.#host = hosts.find((host) => host.datacenter === this.#localDc && host.isUp()) ?? null;
    }
    if (this.#host === null) throw new StoreError("not_applied", "no node of Cassandra is up");
    return this.#host;
  }

  /**
   * Nodes whose schema differs from that of the defining node. A node that is down learns the schema when it comes back.
   */
  async #disagreeing(): Promise<readonly cassandra.Host[]> {
    const options = { prepare: false, isIdempotent: true, host: this.#defining() };
    const [own, peers] = await Promise.all([
      this.#client.execute("SELECT schema_version FROM system.local", [], options),
      this.#client.execute("SELECT peer, schema_version FROM system.peers", [], options),
    ]);
    const version = String(own.rows[0]?.get("schema_version"));
    const hosts = this.#client.hosts.values();
    return peers.rows
      .filter((row) => String(row.get("schema_version")) !== version)
      .flatMap((row) => hosts.filter(({ address }) => address.startsWith(`${row.get("peer")}:`)))
      .filter((host) => host.isUp());
  }
}

function isListening(host: cassandra.Host): Promise<boolean> {
  const colon = host.address.lastIndexOf(":");
  const socket = connect({
    host: host.address.slice(0, colon),
    port: Number(host.address.slice(colon + 1)),
    timeout: probeMs,
  });
  return new Promise((resolve) => {
    const end = (listens: boolean) => () => {
      socket.destroy();
      resolve(listens);
    };
    socket.once("connect", end(true)).once("error", end(false)).once("timeout", end(false));
  });
}

// What a driver failure means for the statement (C2), and what the driver may retry (C1).

const codes = cassandra.types.responseErrorCodes;

/** Refused before anything was done: the statement is wrong, not allowed or too large, or its node is starting up. */
const refusals: ReadonlySet<number> = new Set([
  codes.isBootstrapping,
  codes.badCredentials,
  codes.protocolError,
  codes.syntaxError,
  codes.unauthorized,
  codes.invalid,
  codes.configError,
  codes.alreadyExists,
  codes.unprepared,
]);

/** The hosts that a session uses: where an operator has to look when the driver names no host. */
interface SessionHosts {
  readonly contactPoints: readonly string[];
  readonly localDc: string;
}

/** The store error for a driver failure. Programming errors (a value of a wrong type) are rethrown unchanged. */
export function toStoreError(
  error: unknown,
  { isRead, hosts }: { readonly isRead: boolean; readonly hosts: SessionHosts },
): unknown {
  if (!(error instanceof Error) || error instanceof TypeError || error instanceof StoreError) return error;
  const effect = isRead || isUntouched(error) ? "not_applied" : "unknown";
  return new StoreError(effect, `Cassandra: ${wordsOf(error, hosts)}`, { cause: error });
}

/**
 * Whether a statement failed because a node does not know the table: either the node that was queried, in the wording of
 * Cassandra 4 or 3, or one to which the read was forwarded. A node that is just activating the table knows its name before it can
 * read from it, and calls that an error of its own.
 */
export function isUnknownTable(error: unknown, table: string): boolean {
  const cause = error instanceof StoreError ? error.cause : error;
  if (!(cause instanceof cassandra.errors.ResponseError)) return false;
  if (cause.code === codes.readFailure) return reasonsOf(cause).includes(incompatibleSchema);
  if (cause.code === codes.serverError) return activating.test(cause.message);
  const said = [`table ${table} does not exist`, `unconfigured table ${table}`];
  return cause.code === codes.invalid && said.includes(cause.message);
}

const activating = /^java\.lang\.IllegalArgumentException: Unknown CF [0-9a-f-]{36}$/;

/** Reason for a replica's failure, as numbered in version 5 of the native protocol («reasonmap» of Read_failure). */
const incompatibleSchema = 3;

function reasonsOf(error: Error): readonly number[] {
  return Object.values((error as Error & { reasons?: Readonly<Record<string, number>> }).reasons ?? {});
}

/**
 * The message of an error; for several hosts what each of them reported, where the driver would point into its own code.
 */
export function wordsOf(error: unknown, hosts: SessionHosts): string {
  if (!(error instanceof cassandra.errors.NoHostAvailableError))
    return error instanceof Error ? error.message : String(error);
  if (error.innerErrors === null) return "the session is closed";
  const said = Object.entries(triedHosts(error));
  if (said.length > 0) return said.map(([host, inner]) => `${host}: ${wordsOf(inner, hosts)}`).join("; ");
  // The driver says that all hosts were tried even if none was; any other message of the driver is useful.
  const why = error.message.startsWith("All host(s) tried") ? "" : `${error.message}: `;
  const points = hosts.contactPoints.join(", ");
  return `${why}no host of the data centre ${hosts.localDc} can be asked (contact points: ${points})`;
}

/** What each host that was tried reported. The driver gives null for a session that was closed. */
function triedHosts(error: InstanceType<typeof cassandra.errors.NoHostAvailableError>): object {
  return (error.innerErrors as object | null) ?? {};
}

function isUntouched(error: Error): boolean {
  if (error instanceof cassandra.errors.NoHostAvailableError) {
    // The driver tries another node only if the previous one was never sent the statement, or refused it; a failure that
    // leaves doubt is thrown as it is, so everything listed here must be free of doubt too.
    return Object.values(triedHosts(error)).every(isWithoutDoubt);
  }
  if (error instanceof cassandra.errors.BusyConnectionError) return true;
  if (error instanceof cassandra.errors.ArgumentError) return true;
  if (error instanceof cassandra.errors.ResponseError) {
    if (error.code === codes.unavailableException) return isRefusedBeforeAgreement(error);
    return refusals.has(error.code);
  }
  return (error as Error & { requestNotWritten?: boolean }).requestNotWritten === true;
}

function isWithoutDoubt(inner: unknown): boolean {
  if (inner === null || inner === undefined || typeof inner === "string") return true;
  return inner instanceof Error && isUntouched(inner);
}

/**
 * Too few replicas. At a serial level this is detected before a conditional write is proposed; at the level of its commit
 * it may be detected after the write was agreed on, so that later readers will see it applied.
 */
function isRefusedBeforeAgreement(error: Error): boolean {
  const level = (error as Error & { consistencies?: number }).consistencies;
  return level === consistencies.serial || level === consistencies.localSerial;
}

const { RetryPolicy } = cassandra.policies.retry;
type OperationInfo = cassandra.policies.retry.OperationInfo;
type DecisionInfo = cassandra.policies.retry.DecisionInfo;

/** Retries an idempotent statement once, on another node; nothing else, whatever the failure (C1). */
class OnceIfIdempotent extends RetryPolicy {
  override onUnavailable(
    info: cassandra.policies.retry.OperationInfo,
  ): cassandra.policies.retry.DecisionInfo {
    return this.#once(info);
  }

  override onReadTimeout(info: OperationInfo): DecisionInfo {
    return this.#once(info);
  }

  override onWriteTimeout(info: OperationInfo): DecisionInfo {
    return this.#once(info);
  }

  override onRequestError(info: OperationInfo): DecisionInfo {
    return this.#once(info);
  }

  #once(info: OperationInfo): DecisionInfo {
    const mayRepeat = info.nbRetry === 0 && info.executionOptions.isIdempotent() === true;
    if (!mayRepeat) return this.rethrowResult();
    // Uses the requested level: the one named in a failure may be a different, weaker one.
    return this.retryResult(info.executionOptions.getConsistency(), false);
  }
}

export const retryPolicy: cassandra.policies.retry.RetryPolicy = new OnceIfIdempotent();

// TLS to Cassandra. The driver accepts any certificate by default, and it connects to addresses that its peers name, so
// what a certificate is checked against is decided here.
//   T1. A server whose certificate the given authority did not issue receives nothing, not even a password.
//   T2. A server's certificate names the address that was connected to, or the one name that the operator gave all
//       servers.

export interface CassandraTls {
  /** PEM of the authority that issues the servers' certificates. */
  readonly ca: string;
  /** The name in every server's certificate; absent if each certificate names its server's own addresses. */
  readonly serverName?: string;
  /** PEM, for servers that request a client certificate. */
  readonly client?: { readonly key: string; readonly cert: string };
}

function tlsOptions({ ca, serverName, client }: CassandraTls): ConnectionOptions {
  return {
    ca: [ca],
    rejectUnauthorized: true,
    minVersion: "TLSv1.2",
    checkServerIdentity: (host, certificate) => checkServerIdentity(serverName ?? host, certificate),
    ...(serverName === undefined ? {} : { servername: serverName }),
    ...(client === undefined ? {} : client),
  };
}
