// The schema: which version of it a keyspace has, and how it is migrated to the version that this node knows.
//   S1. The current version is recorded by compare-and-set, one step at a time, after all of the step's statements.
//   S2. One node at a time defines tables: it holds a lock that it renews before each statement and that expires on its
//       own. Every statement may be repeated, so a node that dies halfway blocks nothing.
//   S3. A keyspace of a newer version than this node knows is refused: the node would not know what it overwrites.
//   S4. A version only adds to the previous one, so that nodes of the previous version keep working during the roll-out.
//   S5. A table is listed before it can be queried: Cassandra records that it has one, flushes the record, and activates
//       the table afterwards, each of its nodes in its own time. A node that finds `schema_state` listed and is told that
//       there is no such table defines it as well, which changes nothing and completes once all of Cassandra's nodes know
//       the table.
//   S6. A keyspace that a build before 0.1.0 made is refused: its versions counted other steps.

import { createHash, randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { StoreError } from "../actor-store.ts";
import { actorTables } from "./actor-tables.ts";
import { clusterTables } from "./cluster-tables.ts";
import { eventTables } from "./event-store.ts";
import { fenceTables } from "./fence-ledger.ts";
import { imageTables } from "./image-store.ts";
import { insightTables } from "./insight-store.ts";
import { logTables } from "./log-store.ts";
import { receiptListingTables } from "./receipt-listing.ts";
import { recordTables } from "./record-tables.ts";
import type { CassandraSession } from "./session.ts";
import { isUnknownTable } from "./session-errors.ts";
import { stagingTables } from "./staging-area.ts";

/** The statements that lead from version n to n + 1, at index n. */
export type Migrations = readonly (readonly string[])[];

export const migrations: Migrations = [
  [
    ...[...actorTables, ...clusterTables, ...fenceTables],
    ...[...recordTables, ...receiptListingTables, ...insightTables, ...eventTables],
    ...[...stagingTables, ...logTables, ...imageTables],
  ],
];

/** A table that every keyspace of the builds before 0.1.0 has, and no later one (S6). */
const tableBefore = "staged_leaf";

/** Thrown for a keyspace that a later release of this service has changed (S3). */
export class SchemaTooNew extends Error {
  readonly stored: number;
  readonly known: number;
  constructor(stored: number, known: number) {
    super(`the schema has version ${stored}, and this release knows none above ${known}: start a newer one`);
    this.name = "SchemaTooNew";
    this.stored = stored;
    this.known = known;
  }
}

/** Thrown for a keyspace that a build before 0.1.0 made (S6). */
export class SchemaTooOld extends Error {
  constructor(keyspace: string) {
    super(
      `the keyspace ${keyspace} was made by a build before 0.1.0, which nothing upgrades from: start with an empty keyspace`,
    );
    this.name = "SchemaTooOld";
  }
}

const lockSeconds = 60;
const pollMs = 500;
/** How long this node waits for others before giving up. */
const waitMs = 300_000;
/** How often a table that all of Cassandra's nodes reported to know may turn out to be unknown (S5). */
const unknownMax = 5;

const cql = {
  table: "SELECT table_name FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?",
  versionHere: "SELECT version FROM schema_state WHERE part = 'schema'",
  first: "INSERT INTO schema_state (part, version) VALUES ('schema', ?) IF NOT EXISTS",
  next: "UPDATE schema_state SET version = ? WHERE part = 'schema' IF version = ?",
  lock: `INSERT INTO schema_state (part, holder) VALUES ('lock', ?) IF NOT EXISTS USING TTL ${lockSeconds}`,
  renew: `UPDATE schema_state USING TTL ${lockSeconds} SET holder = ? WHERE part = 'lock' IF holder = ?`,
  unlock: "DELETE FROM schema_state WHERE part = 'lock' IF holder = ?",
} as const;
const serially = { consistency: "LOCAL_QUORUM", serial: "SERIAL", idempotent: false } as const;

/**
 * Migrates the session's keyspace to the last of the `known` versions and returns it. Any number of nodes may do so at
 * once; if the keyspace is already up to date, no other region is needed. Throws {@link SchemaTooNew},
 * {@link SchemaTooOld}, {@link StoreError}.
 */
export async function migrate(session: CassandraSession, known: Migrations = migrations): Promise<number> {
  if (await hasTable(session, tableBefore)) throw new SchemaTooOld(session.keyspace);
  if (!(await hasTable(session, "schema_state"))) await session.define(stateTable(session.keyspace));
  const untilMs = performance.now() + waitMs;
  const holder = randomUUID();
  for (;;) {
    const version = await onceKnown(session, () => attempt(session, known, holder));
    if (version > known.length) throw new SchemaTooNew(version, known.length);
    if (version === known.length) return version;
    if (performance.now() > untilMs) {
      throw new StoreError("not_applied", "another node holds the schema's lock and does not finish");
    }
    await delay(pollMs);
  }
}

/** The schema's version; 0 for a keyspace that has none. */
export async function readSchemaVersion(session: CassandraSession): Promise<number> {
  return readVersion(session, "LOCAL_QUORUM");
}

/** See S5. */
async function onceKnown(session: CassandraSession, act: () => Promise<number>): Promise<number> {
  for (let times = 1; ; times += 1) {
    try {
      return await act();
    } catch (error) {
      if (!isUnknownTable(error, "schema_state")) throw error;
      if (times === unknownMax) {
        const message = `Cassandra does not know the table schema_state, however often it is created (${times} times)`;
        throw new StoreError("not_applied", message, { cause: error });
      }
      await session.define(stateTable(session.keyspace));
    }
  }
}

/** The existing version, or the version reached if there was more to do and nobody else was doing it. */
async function attempt(session: CassandraSession, known: Migrations, holder: string): Promise<number> {
  const version = await readVersion(session, "LOCAL_QUORUM");
  if (version >= known.length) return version;
  if (!(await conditionally(session, cql.lock, [holder]))) return version;
  try {
    // Other regions may have got further than this region has heard.
    return await advance(session, known, holder);
  } finally {
    await conditionally(session, cql.unlock, [holder]).catch(() => false);
  }
}

/** The version reached: below the last one if the lock was lost. */
async function advance(session: CassandraSession, known: Migrations, holder: string): Promise<number> {
  let version = await readVersion(session, "SERIAL");
  while (version < known.length) {
    for (const statement of known[version] ?? []) {
      if (!(await conditionally(session, cql.renew, [holder, holder]))) return version;
      await session.define(statement, { settle: false });
    }
    // Recorded only once every node has the tables, or a node would be queried for a table that it does not know.
    await session.define(stateTable(session.keyspace));
    const isNext =
      version === 0
        ? await conditionally(session, cql.first, [1])
        : await conditionally(session, cql.next, [version + 1, version]);
    if (!isNext) return version;
    version += 1;
  }
  return version;
}

async function readVersion(
  session: CassandraSession,
  consistency: "LOCAL_QUORUM" | "SERIAL",
): Promise<number> {
  const { rows } = await session.execute(cql.versionHere, [], { consistency, idempotent: true });
  return Number(rows[0]?.["version"] ?? 0);
}

/** Whether it was applied; an unknown outcome counts as not applied, because every step checks again (S2). */
async function conditionally(
  session: CassandraSession,
  text: string,
  params: readonly (string | number)[],
): Promise<boolean> {
  try {
    return (await session.execute(text, params, serially)).applied;
  } catch (error) {
    if (error instanceof StoreError && error.effect === "unknown") return false;
    throw error;
  }
}

async function hasTable(session: CassandraSession, name: string): Promise<boolean> {
  const { rows } = await session.execute(cql.table, [session.keyspace, name], { idempotent: true });
  return rows.length > 0;
}

/**
 * There is no lock without a table, so all nodes create this one at once: its id is derived from its name, so that all of
 * them create the same table.
 */
function stateTable(keyspace: string): string {
  const digits = createHash("sha256").update(`${keyspace}.schema_state`).digest("hex");
  const id = [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `5${digits.slice(13, 16)}`,
    `8${digits.slice(17, 20)}`,
    digits.slice(20, 32),
  ];
  return `CREATE TABLE IF NOT EXISTS schema_state (part text PRIMARY KEY, version int, holder text)
    WITH ID = ${id.join("-")}`;
}
