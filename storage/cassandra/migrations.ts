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

import { createHash, randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { StoreError } from "../actor-store.ts";
import { eventTables } from "./event-store.ts";
import { evidenceTables } from "./evidence-store.ts";
import { fenceTables } from "./fence-ledger.ts";
import { imageTables } from "./image-store.ts";
import { insightTables } from "./insight-store.ts";
import { listTables } from "./list-store.ts";
import { logTables } from "./log-store.ts";
import { receiptListingTables } from "./receipt-listing.ts";
import { type CassandraSession, isUnknownTable } from "./session.ts";
import { stagingTables } from "./staging-area.ts";

// Tables of the cluster store. Views and beats are agreed on within their region, homes and standings between all regions.

const compaction = "compaction = {'class': 'UnifiedCompactionStrategy'}";

/** After this time, beats of incarnations that are long gone are forgotten. */
const beatSeconds = 86_400;

export const clusterTables: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS region_view (region text PRIMARY KEY, version bigint, members text)
   WITH ${compaction}`,
  `CREATE TABLE IF NOT EXISTS region_beat (
     region text, incarnation text, count bigint, wall_ms bigint, homes_seen bigint,
     PRIMARY KEY (region, incarnation))
   WITH default_time_to_live = ${beatSeconds} AND gc_grace_seconds = 10800 AND ${compaction}`,
  `CREATE TABLE IF NOT EXISTS party_home (party text PRIMARY KEY, region text, moving_to text, version bigint)
   WITH ${compaction}`,
  // Homes that changed within the last day, all in one partition; `home` is one value, so a note never mixes two moves.
  `CREATE TABLE IF NOT EXISTS party_move (part text, party text, home text, PRIMARY KEY (part, party))
   WITH gc_grace_seconds = 10800 AND ${compaction}`,
  `CREATE TABLE IF NOT EXISTS region_standing (
     part text, region text, status text, successor text, version bigint, PRIMARY KEY (part, region))
   WITH ${compaction}`,
];

// Tables of the actor store. The partition of `actor` is the source of truth; the others are hints and lists that lead to
// it.
//
// `actor`: one partition per actor. Its head is stored in static columns; row (0, 0, '') is written with the first claim
// and never deleted: a conditional write reads the first live row, and thanks to this row it never meets a tombstone.
// gc_grace is one day: run repairs more often than that.

export const actorTables: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS actor (
     kind text, id text, rt tinyint, k bigint, k2 text,
     epoch bigint static, owner text static, claim uuid static, head bigint static, op uuid static,
     snap_seq bigint static, snap blob static, schema_v int static,
     wake_at bigint static, outbox_low bigint static, home text static, moved_from text static,
     body blob,
     PRIMARY KEY ((kind, id), rt, k, k2))
   WITH gc_grace_seconds = 86400 AND compaction = {'class': 'UnifiedCompactionStrategy'}`,
  // Hints: «look at this actor then». A slot is ten seconds; floor is the first slot that may contain any.
  `CREATE TABLE IF NOT EXISTS actor_wake (
     region text, slot bigint, wake_at bigint, kind text, id text, hinted_at bigint,
     PRIMARY KEY ((region, slot), wake_at, kind, id))
   WITH gc_grace_seconds = 10800 AND compaction = {'class': 'UnifiedCompactionStrategy'}`,
  "CREATE TABLE IF NOT EXISTS actor_wake_floor (region text PRIMARY KEY, slot bigint)",
  // The directory of actors: by kind for operators, by party for a move to another region.
  `CREATE TABLE IF NOT EXISTS actor_name (kind text, bucket tinyint, id text, PRIMARY KEY ((kind, bucket), id))`,
  "CREATE TABLE IF NOT EXISTS actor_of_party (party text, kind text, id text, PRIMARY KEY (party, kind, id))",
];

// Tables of records, receipts and the public register. How each column is stamped is described in columns.ts.

/** Records, what is staged for pushes, and the catalogue. */
const records: readonly string[] = [
  // One partition per record: its head, in one static cell (W1), and its versions, newest first (W2). So a version and the
  // head that moves to it are one write, and what is served takes one read. Bytes that are published again are stored
  // again: finding them elsewhere would cost every fetch a second read.
  `CREATE TABLE IF NOT EXISTS record (
     record_id text, generation bigint, hash text, head text static,
     bytes blob, seal_id text, leaf_index int, proof blob, sidecar text, row text, cert_id text, published_at bigint,
     PRIMARY KEY (record_id, generation, hash))
   WITH CLUSTERING ORDER BY (generation DESC, hash ASC) AND ${compaction}`,
  `CREATE TABLE IF NOT EXISTS record_seal (seal_id text PRIMARY KEY, envelope text, tree_size int) WITH ${compaction}`,
  // A second copy of the heads, by business and bucket of the record id (W1): the source from which an index is built.
  `CREATE TABLE IF NOT EXISTS record_catalogue (
     business_uuid text, bucket smallint, record_id text, head text,
     PRIMARY KEY ((business_uuid, bucket), record_id)) WITH ${compaction}`,
  // What is staged of a push; its size is bounded by what one request may carry.
  // A row has as many leaves as its key says, from `first` on.
  `CREATE TABLE IF NOT EXISTS staged_leaves (
     push_id text, first int, leaves int, ends blob, bytes blob,
     PRIMARY KEY (push_id, first, leaves)) WITH ${compaction}`,
  `CREATE TABLE IF NOT EXISTS staged_document (
     push_id text, name text, body text, PRIMARY KEY (push_id, name)) WITH ${compaction}`,
  // The pushes that have anything staged, by slots of five minutes, with the stamp of the newest of it, and the place of each push.
  // A row of a slot is struck out, never deleted; one that reappears with its slot goes with it again (staged-pushes.ts).
  `CREATE TABLE IF NOT EXISTS staged_push (
     region text, slot bigint, push_id text, stamp bigint, dropped bigint,
     PRIMARY KEY ((region, slot), push_id)) WITH ${compaction}`,
  `CREATE TABLE IF NOT EXISTS staged_of_push (
     push_id text PRIMARY KEY, region text, slot bigint, stamp bigint) WITH ${compaction}`,
  "CREATE TABLE IF NOT EXISTS staged_floor (list text, region text, slot bigint, PRIMARY KEY (list, region))",
];

/** Receipts and their batches. */
const receipts: readonly string[] = [
  // A batch is what one node served in one minute, spread over shards (W2); "batch" is quoted because it is a CQL keyword.
  `CREATE TABLE IF NOT EXISTS receipt (
     region text, name text, shard smallint, retrieval_id text,
     company text, key_id text, nonce text, billable boolean, served_at bigint, hashes blob, envelope blob, event text,
     PRIMARY KEY ((region, name, shard), retrieval_id)) WITH ${compaction}`,
  // Batches that are not closed, by hour (`YYYYMMDDHH`), and the hours that may contain any. Tombstones stay few: a
  // partition is abandoned with its hour.
  `CREATE TABLE IF NOT EXISTS receipt_open (
     region text, hour text, name text, PRIMARY KEY ((region, hour), name)) WITH ${compaction}`,
  `CREATE TABLE IF NOT EXISTS receipt_hour (region text, hour text, PRIMARY KEY (region, hour)) WITH ${compaction}`,
  `CREATE TABLE IF NOT EXISTS receipt_closed (
     region text, hour text, name text, root text, tree_size bigint, closed_at bigint, forgotten_at bigint,
     PRIMARY KEY ((region, hour), name)) WITH ${compaction}`,
  // The hour before which nothing is left to forget.
  `CREATE TABLE IF NOT EXISTS receipt_forgotten (region text PRIMARY KEY, hour text) WITH ${compaction}`,
];

/** References in the feed are read for four hours; after that they only take up space. */
const feedSeconds = 86_400;

const register: readonly string[] = [
  // The entries, and the same entries by party (W1).
  `CREATE TABLE IF NOT EXISTS register_entry (
     tbl text, key text, party text, change bigint, body text, PRIMARY KEY ((tbl, key))) WITH ${compaction}`,
  `CREATE TABLE IF NOT EXISTS register_of_party (
     tbl text, party text, key text, change bigint, body text, PRIMARY KEY ((tbl, party), key)) WITH ${compaction}`,
  // The entries that changed, by the writer's time: references without contents.
  `CREATE TABLE IF NOT EXISTS register_feed (
     slot bigint, at bigint, tbl text, key text, change bigint, party text,
     PRIMARY KEY ((slot), at, tbl, key, change))
   WITH default_time_to_live = ${feedSeconds} AND gc_grace_seconds = 10800 AND ${compaction}`,
  // The party to which a key belongs: written once, agreed on between all regions, never changed (register-store.ts).
  `CREATE TABLE IF NOT EXISTS key_owner (key_id text PRIMARY KEY, party text) WITH ${compaction}`,
];

/** Statements that create the tables, each to be run separately; repeating them changes nothing. */
export const recordTables: readonly string[] = [...records, ...receipts, ...register];

// The versions of the schema, and how a keyspace gets from one to the next.

/** The statements that lead from version n to n + 1, at index n. */
export type Migrations = readonly (readonly string[])[];

export const migrations: Migrations = [
  [
    ...actorTables,
    ...clusterTables,
    ...fenceTables,
    ...recordTables,
    ...receiptListingTables,
    ...insightTables,
    ...eventTables,
    ...stagingTables,
    ...logTables,
    ...imageTables,
    ...evidenceTables,
    ...listTables,
  ],
];

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
 * once; if the keyspace is already up to date, no other region is needed. Throws {@link SchemaTooNew}, {@link StoreError}.
 */
export async function migrate(session: CassandraSession, known: Migrations = migrations): Promise<number> {
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
