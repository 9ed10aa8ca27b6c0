// A connection to Cassandra as the stores here use it: prepared statements in, plain values out, and every failure is a
// StoreError that says whether the statement may have been applied.
//   C1. The driver never sends a non-idempotent statement twice: a retry is the caller's decision (A5).
//   C2. A failure is `not_applied` only when that is certain: nothing was sent, the statement was refused before it began,
//       or it was a read. Everything else is `unknown`, above all the time-out of a conditional write.
//   C3. Values are plain: bigint columns are safe integers, uuid columns are lower-case text, blobs are Uint8Array.
//   C4. A session that is closed finishes what is under way, within a time limit, and sends nothing more.

import { Buffer } from "node:buffer";
import { setTimeout as delay } from "node:timers/promises";
import cassandra from "cassandra-driver";
import { StoreError } from "../actor-store.ts";
import { SchemaChanges } from "./schema-agreement.ts";
import { retryPolicy, type SessionHosts, toStoreError, wordsOf } from "./session-errors.ts";
import { type CassandraTls, tlsOptions } from "./tls.ts";

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
  /** The state for the next page; null if this was the last one. */
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
  return new DriverSession(client, connection);
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

class DriverSession implements CassandraSession {
  readonly #client: cassandra.Client;
  readonly #schema: SchemaChanges;
  readonly #hosts: SessionHosts;
  #underWay = 0;
  /** Resolved when nothing is under way any more; null until the session is being closed. */
  #idle: PromiseWithResolvers<void> | null = null;
  readonly keyspace: string;
  readonly localDc: string;

  constructor(client: cassandra.Client, connection: SessionHosts & { readonly keyspace: string }) {
    this.#client = client;
    this.#schema = new SchemaChanges(client, connection.localDc);
    this.#hosts = connection;
    this.keyspace = connection.keyspace;
    this.localDc = connection.localDc;
  }

  async execute(cql: string, params: readonly CqlParam[], options: ReadOptions): Promise<CqlResult> {
    const { fetchSize, pageState } = options;
    const query: cassandra.QueryOptions = { ...queryOptions(options), autoPage: false };
    if (fetchSize !== undefined) query.fetchSize = fetchSize;
    if (pageState !== undefined) query.pageState = pageState;
    const isRead = cql.startsWith("SELECT");
    return this.#send(isRead, async () =>
      toResult(await this.#client.execute(cql, params.map(toDriver), query)),
    );
  }

  async batch(statements: readonly Statement[], options: StatementOptions): Promise<CqlResult> {
    const queries = statements.map(({ cql, params }) => ({ query: cql, params: params.map(toDriver) }));
    return this.#send(false, async () =>
      toResult(await this.#client.batch(queries, { ...queryOptions(options), logged: false })),
    );
  }

  async define(cql: string, options?: { readonly settle: boolean }): Promise<void> {
    await this.#send(false, async () => {
      await this.#schema.define(cql);
      if (options?.settle !== false) await this.#schema.settle();
    });
  }

  /** See C4. */
  async close(): Promise<void> {
    this.#idle = Promise.withResolvers();
    this.#tellIdle();
    const patience = new AbortController();
    const late = delay(closeMaxMs, undefined, { signal: patience.signal }).catch(() => {});
    await Promise.race([this.#idle.promise, late]);
    patience.abort();
    await this.#client.shutdown();
  }

  async #send<T>(isRead: boolean, work: () => Promise<T>): Promise<T> {
    if (this.#idle !== null) throw new StoreError("not_applied", "Cassandra: the session is closed");
    this.#underWay += 1;
    try {
      return await work();
    } catch (error) {
      throw toStoreError(error, { isRead, hosts: this.#hosts });
    } finally {
      this.#underWay -= 1;
      this.#tellIdle();
    }
  }

  #tellIdle(): void {
    if (this.#underWay === 0) this.#idle?.resolve();
  }
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
