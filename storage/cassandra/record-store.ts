// Records in Cassandra: the port's obligations R1–R5. Reads and writes are LOCAL_QUORUM in the region's data centre, so a
// region reads its own writes; what another region wrote appears once it has been replicated.
//   V1. A version and the head that moves to it are one write in one partition (migrations.ts), so a head is never read
//       before its version.
//   V2. A fetch is one read, plus a second one for a seal that is not in this node's cache (seals never change) or when
//       the newest version is not the head's.
//   V3. All writes of a node share a bounded number of lanes: a push of 10,000 records is a stream, not a flood.
//   V4. With `replicateBeforeAck` everything that is put, including what is staged, is in every region before it is
//       acknowledged: the node that takes a push over after the loss of its region finds its leaves, and what its journal says
//       is published.
//   V5. Rows for an index are read several records at a time: a read's fixed overhead is most of its cost.

import { type CollectionName, recordIdPrefix } from "../../protocol/identifiers.ts";
import { BoundedMap } from "../../std/bounded-map.ts";
import { Semaphore } from "../../std/semaphore.ts";
import type { ReadSignedRows } from "../receipt-store.ts";
import {
  type HeadPage,
  type PublishedRow,
  type PurgedVersion,
  type RecordHead,
  type RecordStore,
  type RecordVersion,
  type ServedRecord,
  type StoredSeal,
  signedRowOf,
  type VersionDate,
  type VersionId,
  type VersionNumber,
  type VersionOrigin,
  type VersionRow,
} from "../record-store.ts";
import {
  bucketOf,
  bytesOf,
  createWriteTimestamps,
  numberOf,
  numberOrNull,
  stampOfChange,
  textOf,
  type WriteTimestamps,
} from "./columns.ts";
import {
  type CassandraSession,
  type CqlParam,
  type CqlRow,
  executeAll,
  type Statement,
  type StatementOptions,
} from "./session.ts";
import { stagedPushesIn } from "./staged-pushes.ts";

/** Maximum statements of this store under way at once, in each direction (V3). */
const writeLanes = 128;
const readLanes = 64;
/** Number of records in one read, see V5. */
const rowsPerRead = 20;
/** Maximum number of cached seals; an envelope is about a kilobyte. */
const sealsMax = 4_000;

const served = "generation, hash, bytes, seal_id, leaf_index, proof, sidecar, row, cert_id, published_at";
const cql = {
  putVersion: `INSERT INTO record (record_id, ${served})
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?`,
  putHead: "UPDATE record USING TIMESTAMP ? SET head = ? WHERE record_id = ?",
  head: "SELECT head FROM record WHERE record_id = ? LIMIT 1",
  newest: `SELECT head, ${served} FROM record WHERE record_id = ? LIMIT 1`,
  version: `SELECT ${served} FROM record WHERE record_id = ? AND generation = ? AND hash = ?`,
  rows: "SELECT record_id, hash, row FROM record WHERE record_id IN ? AND generation = ?",
  origins: `SELECT record_id, hash, bytes, sidecar, published_at FROM record
    WHERE record_id IN ? AND generation = ?`,
  signed: "SELECT record_id, hash, row, sidecar FROM record WHERE record_id IN ? AND generation = ?",
  versions:
    "SELECT generation, hash, published_at FROM record WHERE record_id = ? AND generation < ? LIMIT ?",
  // Filtering only scans the versions of one record: its partition is named.
  newestWith: `SELECT generation, hash, published_at FROM record
    WHERE record_id = ? AND generation < ? AND hash = ? LIMIT 1 ALLOW FILTERING`,
  published: `SELECT row, sidecar, seal_id, leaf_index, proof FROM record
    WHERE record_id = ? AND generation = ? AND hash = ?`,
  // Empty values and no tombstones: a late copy of the version stays hidden for ever (W2), also after `gc_grace_seconds`.
  purgeVersion: `UPDATE record USING TIMESTAMP ? SET bytes = ?, row = '', sidecar = ?
    WHERE record_id = ? AND generation = ? AND hash = ?`,
  putSeal: "INSERT INTO record_seal (seal_id, envelope, tree_size) VALUES (?, ?, ?) USING TIMESTAMP ?",
  seal: "SELECT envelope, tree_size FROM record_seal WHERE seal_id = ?",
} as const;

const plain = { idempotent: true } as const;
const everywhere = { idempotent: true, consistency: "EACH_QUORUM" } as const;

export interface CassandraRecordOptions {
  /** Returns Unix milliseconds; the platform's clock by default. */
  readonly now?: () => number;
  /** Acknowledges a write only once other regions have it (V4). */
  readonly replicateBeforeAck?: boolean;
}

/** The tables of migrations.ts must exist. */
export function openCassandraRecordStore(
  session: CassandraSession,
  options: CassandraRecordOptions = {},
): RecordStore {
  const stamps = createWriteTimestamps(options.now ?? Date.now);
  const [writes, reads] = [new Semaphore(writeLanes), new Semaphore(readLanes)];
  const seals = keptSeals(session);
  const put = options.replicateBeforeAck === true ? everywhere : plain;
  const putVersions: RecordStore["putVersions"] = async (versions, heads) => {
    const batches = [...recordWrites(versions, heads, stamps), ...catalogueWrites(heads)];
    await writes.all(batches.map((batch) => () => write(session, batch, put)));
  };
  return {
    ...stagedPushesIn(session, { lanes: writes, stamps, put }),
    putSeal: async ({ seal_id, envelope, tree_size }) => {
      const size = tree_size ?? undefined;
      await session.execute(cql.putSeal, [seal_id, envelope, size, stamps.falling()], put);
    },
    readSeal: seals,
    putVersions,
    putHeads: (heads) => putVersions([], heads),
    readHead: async (recordId) => {
      const { rows } = await session.execute(cql.head, [recordId], plain);
      return headIn(rows[0], recordId);
    },
    listHeads: (cursor, limit): Promise<HeadPage> => readHeads(session, cursor, limit),
    listCatalogue: (businessUuid, cursor, limit, type = null): Promise<HeadPage> =>
      readCatalogue(session, { businessUuid, cursor, limit, type }),
    readServed: (recordId) => readServed(session, seals, recordId),
    readRows: (ids) => readMany(session, reads, { ids, text: cql.rows, of: rowOf }),
    readOrigins: (ids) => readMany(session, reads, { ids, text: cql.origins, of: originOf }),
    listVersions: (recordId, belowGeneration, limit) =>
      listVersions(session, [recordId, belowGeneration ?? Number.MAX_SAFE_INTEGER, limit]),
    newestWith: async (recordId, hash, belowGeneration) => {
      const [newest] = await executeAll(session, cql.newestWith, [recordId, belowGeneration, hash], plain);
      return newest === undefined ? null : dateOf(newest);
    },
    readPublished: (id) => readPublished(session, id),
    purgeVersions: async (versions) => {
      const purges = versions.map((each) => () => purgeVersion(session, each, stamps.rising(), put));
      await writes.all(purges);
    },
    // Bytes leave the disks when the tables are compacted, which only an operator can request (docs/retention.md).
    overwriteUnused: async () => {},
  };
}

/** Reads what receipts name of versions in this keyspace. */
export function signedRowsIn(session: CassandraSession): ReadSignedRows {
  const reads = new Semaphore(readLanes);
  return async (versions) => {
    const read = await readEach(session, reads, { ids: versions, text: cql.signed });
    const numbered = ({ record_id, generation }: VersionNumber): string => `${record_id} ${generation}`;
    const found = new Map(
      read.map(([row, generation]) => {
        const record_id = textOf(row["record_id"]);
        const [hash, text, sidecar] = [textOf(row["hash"]), textOf(row["row"]), textOf(row["sidecar"])];
        return [numbered({ record_id, generation }), signedRowOf({ hash, row: text, sidecar })] as const;
      }),
    );
    return versions.map((version) => found.get(numbered(version)) ?? null);
  };
}

/** One write per record: its versions, and the heads that move to them (V1). */
function recordWrites(
  versions: readonly RecordVersion[],
  heads: readonly RecordHead[],
  stamps: WriteTimestamps,
): readonly (readonly Statement[])[] {
  const partitions = new Map<string, Statement[]>();
  const add = (recordId: string, statement: Statement): void => {
    const known = partitions.get(recordId);
    if (known === undefined) partitions.set(recordId, [statement]);
    else known.push(statement);
  };
  for (const version of versions) {
    add(version.record_id, { cql: cql.putVersion, params: versionParams(version, stamps.falling()) });
  }
  for (const head of heads) {
    const params = [stampOfChange(head.change), headText(head), head.record_id];
    add(head.record_id, { cql: cql.putHead, params });
  }
  return [...partitions.values()];
}

function versionParams(version: RecordVersion, stamp: number): readonly CqlParam[] {
  return [
    version.record_id,
    version.generation,
    version.hash,
    version.bytes,
    version.seal_id,
    // Left unset: a null would be a tombstone.
    version.leaf_index ?? undefined,
    version.proof,
    version.sidecar,
    version.row,
    version.cert_id,
    version.published_at_ms,
    stamp,
  ];
}

async function write(
  session: CassandraSession,
  statements: readonly Statement[],
  put: StatementOptions,
): Promise<void> {
  const [only] = statements;
  if (only !== undefined && statements.length === 1) await session.execute(only.cql, only.params, put);
  else await session.batch(statements, put);
}

async function purgeVersion(
  session: CassandraSession,
  { record_id, generation, hash, remains }: PurgedVersion,
  stamp: number,
  put: StatementOptions,
): Promise<void> {
  // A version that was never stored must not come into being by its purge; what is stored of it is its key.
  const { rows } = await session.execute(cql.version, [record_id, generation, hash], plain);
  if (rows.length === 0) return;
  const params = [stamp, new Uint8Array(), remains, record_id, generation, hash];
  await session.execute(cql.purgeVersion, params, put);
}

type ReadSeal = (sealId: string) => Promise<StoredSeal | null>;

/** Reads a seal once and caches it; when there are too many, the oldest are evicted. */
function keptSeals(session: CassandraSession): ReadSeal {
  const kept = new BoundedMap<string, StoredSeal>(sealsMax);
  return async (sealId) => {
    const known = kept.get(sealId);
    if (known !== undefined) return known;
    const { rows } = await session.execute(cql.seal, [sealId], plain);
    const [row] = rows;
    if (row === undefined) return null;
    const seal = {
      seal_id: sealId,
      envelope: textOf(row["envelope"]),
      tree_size: numberOrNull(row["tree_size"] ?? null),
    };
    kept.set(sealId, seal);
    return seal;
  };
}

/** See V2. */
async function readServed(
  session: CassandraSession,
  seals: ReadSeal,
  recordId: string,
): Promise<ServedRecord | null> {
  const { rows } = await session.execute(cql.newest, [recordId], plain);
  const head = headIn(rows[0], recordId);
  if (head === null || !head.live) return null;
  const version = versionIn(rows[0], head) ?? (await readVersion(session, head));
  if (version === null) return null;
  const seal = await seals(version.seal_id);
  return seal === null ? null : { head, version, seal };
}

async function readVersion(session: CassandraSession, head: RecordHead): Promise<RecordVersion | null> {
  const params = [head.record_id, head.generation, head.hash];
  const { rows } = await session.execute(cql.version, params, plain);
  return versionIn(rows[0], head);
}

interface ManyVersions<V> {
  readonly ids: readonly VersionId[];
  readonly text: string;
  readonly of: (row: CqlRow, generation: number) => V;
}

async function readMany<V extends VersionId>(
  session: CassandraSession,
  lanes: Semaphore,
  { ids, text, of }: ManyVersions<V>,
): Promise<readonly V[]> {
  const rows = await readEach(session, lanes, { ids, text });
  const found = new Map(rows.map((row) => of(...row)).map((version) => [nameOf(version), version]));
  return ids.flatMap((id) => found.get(nameOf(id)) ?? []);
}

/** The rows of these versions, each with its generation, in no order (V5). */
async function readEach(
  session: CassandraSession,
  lanes: Semaphore,
  { ids, text }: { readonly ids: readonly VersionNumber[]; readonly text: string },
): Promise<readonly (readonly [CqlRow, generation: number])[]> {
  const reads: (() => Promise<readonly (readonly [CqlRow, number])[]>)[] = [];
  for (const [generation, same] of Map.groupBy(ids, (id) => id.generation)) {
    const recordIds = [...new Set(same.map(({ record_id }) => record_id))];
    for (let from = 0; from < recordIds.length; from += rowsPerRead) {
      const some = recordIds.slice(from, from + rowsPerRead);
      reads.push(async () => {
        const rows = await executeAll(session, text, [some, generation], plain);
        return rows.map((row) => [row, generation] as const);
      });
    }
  }
  return (await lanes.all(reads)).flat();
}

function rowOf(row: CqlRow, generation: number): VersionRow {
  return {
    record_id: textOf(row["record_id"]),
    generation,
    hash: textOf(row["hash"]),
    row: textOf(row["row"]),
  };
}

function originOf(row: CqlRow, generation: number): VersionOrigin {
  return {
    record_id: textOf(row["record_id"]),
    generation,
    hash: textOf(row["hash"]),
    bytes: bytesOf(row["bytes"]),
    sidecar: textOf(row["sidecar"]),
    published_at_ms: numberOf(row["published_at"]),
  };
}

function nameOf({ record_id, generation, hash }: VersionId): string {
  return `${record_id} ${generation} ${hash}`;
}

/** `asked` contains the record id, a generation above those requested, and the maximum number. */
async function listVersions(
  session: CassandraSession,
  asked: readonly [recordId: string, belowGeneration: number, limit: number],
): Promise<readonly VersionDate[]> {
  const rows = await executeAll(session, cql.versions, asked, plain);
  return rows.map(dateOf);
}

function dateOf(row: CqlRow): VersionDate {
  return {
    generation: numberOf(row["generation"]),
    hash: textOf(row["hash"]),
    published_at_ms: numberOf(row["published_at"]),
  };
}

async function readPublished(session: CassandraSession, id: VersionId): Promise<PublishedRow | null> {
  const { record_id, generation, hash } = id;
  const { rows } = await session.execute(cql.published, [record_id, generation, hash], plain);
  const [row] = rows;
  if (row === undefined) return null;
  return {
    record_id,
    generation,
    hash,
    row: textOf(row["row"]),
    sidecar: textOf(row["sidecar"]),
    seal_id: textOf(row["seal_id"]),
    leaf_index: numberOrNull(row["leaf_index"] ?? null),
    proof: bytesOf(row["proof"]),
  };
}

/** A partition that has only versions has no head yet. */
function headIn(row: CqlRow | undefined, recordId: string): RecordHead | null {
  const text = row?.["head"] ?? null;
  return text === null ? null : headOf(recordId, textOf(text));
}

/** The version in `row` if it is the one that the head names. */
function versionIn(row: CqlRow | undefined, head: RecordHead): RecordVersion | null {
  if (row === undefined || row["generation"] !== head.generation || row["hash"] !== head.hash) return null;
  return {
    record_id: head.record_id,
    business_uuid: head.business_uuid,
    type: head.type,
    generation: head.generation,
    hash: head.hash,
    bytes: bytesOf(row["bytes"]),
    seal_id: textOf(row["seal_id"]),
    leaf_index: numberOrNull(row["leaf_index"] ?? null),
    proof: bytesOf(row["proof"]),
    sidecar: textOf(row["sidecar"]),
    row: textOf(row["row"]),
    cert_id: textOf(row["cert_id"]),
    published_at_ms: numberOf(row["published_at"]),
  };
}

// A record's head as it is stored: one cell, so that of two heads one is kept whole (W1 in columns.ts).

export function headText(head: RecordHead): string {
  const { business_uuid, type, live, generation, change, hash } = head;
  return JSON.stringify([business_uuid, type, live ? 1 : 0, generation, change, hash]);
}

export function headOf(recordId: string, text: string): RecordHead {
  const [business_uuid, type, live, generation, change, hash] = JSON.parse(text) as readonly [
    string,
    string,
    0 | 1,
    number,
    number,
    string,
  ];
  return { record_id: recordId, business_uuid, type, live: live === 1, generation, change, hash };
}

// The heads of all records, by business and bucket: the source from which an index is built. It is a projection of the
// heads in `record`, written along with each of them; if a write fails in between, its caller repeats it.
//   K1. A cursor names the last head of its page: `<business_uuid> <bucket> <record_id>`. It therefore survives the
//       process.
//   K2. All heads come in the order of the partitions' tokens. Two partitions with the same token (64 bits of a hash of a
//       random uuid) are not distinguished.

/**
 * Partitions per business: with a million records, each has about 60,000 rows, 15 MB. Changing the number loses what is
 * listed.
 */
const buckets = 16;
const headsPerWrite = 100;

const columns = "SELECT business_uuid, bucket, record_id, head FROM record_catalogue";
const catalogueCql = {
  put: "INSERT INTO record_catalogue (business_uuid, bucket, record_id, head) VALUES (?, ?, ?, ?) USING TIMESTAMP ?",
  first: `${columns} LIMIT ?`,
  rest: `${columns} WHERE business_uuid = ? AND bucket = ? AND record_id > ? LIMIT ?`,
  ofType: `${columns} WHERE business_uuid = ? AND bucket = ? AND record_id > ? AND record_id < ? LIMIT ?`,
  further: `${columns} WHERE token(business_uuid, bucket) > token(?, ?) LIMIT ?`,
} as const;

interface Place {
  readonly businessUuid: string;
  readonly bucket: number;
  readonly recordId: string;
}

/** Groups heads into writes of one partition each. */
export function catalogueWrites(heads: readonly RecordHead[]): readonly (readonly Statement[])[] {
  const partitions = new Map<string, Statement[][]>();
  for (const head of heads) {
    const bucket = bucketOf(head.record_id, buckets);
    const params = [head.business_uuid, bucket, head.record_id, headText(head), stampOfChange(head.change)];
    const name = `${head.business_uuid} ${bucket}`;
    const writes = partitions.get(name) ?? [];
    partitions.set(name, writes);
    const last = writes.at(-1);
    if (last === undefined || last.length >= headsPerWrite) writes.push([{ cql: catalogueCql.put, params }]);
    else last.push({ cql: catalogueCql.put, params });
  }
  return [...partitions.values()].flat();
}

/** Lists all heads, see K2. */
async function readHeads(session: CassandraSession, cursor: string | null, limit: number): Promise<HeadPage> {
  if (cursor === null) return pageOf(await read(session, catalogueCql.first, [limit]), limit);
  const { businessUuid, bucket, recordId } = parseCursor(cursor);
  const rows = [...(await read(session, catalogueCql.rest, [businessUuid, bucket, recordId, limit]))];
  const missing = limit - rows.length;
  if (missing > 0) rows.push(...(await read(session, catalogueCql.further, [businessUuid, bucket, missing])));
  return pageOf(rows, limit);
}

/** Lists the heads of a business, bucket by bucket; those of one type have record ids in one range. */
async function readCatalogue(
  session: CassandraSession,
  {
    businessUuid,
    cursor,
    limit,
    type,
  }: {
    readonly businessUuid: string;
    readonly cursor: string | null;
    readonly limit: number;
    readonly type: CollectionName | null;
  },
): Promise<HeadPage> {
  const first = type === null ? "" : recordIdPrefix(type);
  const place = cursor === null ? { businessUuid, bucket: 0, recordId: first } : parseCursor(cursor);
  if (place.businessUuid !== businessUuid || !place.recordId.startsWith(first))
    throw new RangeError("a cursor of another catalogue");
  const rows: CqlRow[] = [];
  for (let bucket = place.bucket; bucket < buckets && rows.length < limit; bucket += 1) {
    const after = bucket === place.bucket ? place.recordId : first;
    const missing = limit - rows.length;
    // No character of a record id sorts after a tilde.
    const params = type === null ? [missing] : [`${first}~`, missing];
    const text = type === null ? catalogueCql.rest : catalogueCql.ofType;
    rows.push(...(await read(session, text, [businessUuid, bucket, after, ...params])));
  }
  return pageOf(rows, limit);
}

async function read(
  session: CassandraSession,
  text: string,
  params: readonly (string | number)[],
): Promise<readonly CqlRow[]> {
  return await executeAll(session, text, params, plain);
}

function pageOf(rows: readonly CqlRow[], limit: number): HeadPage {
  const heads = rows.map((row) => headOf(textOf(row["record_id"]), textOf(row["head"])));
  const last = rows.at(-1);
  if (last === undefined || rows.length < limit) return { heads, cursor: null };
  const place = [textOf(last["business_uuid"]), numberOf(last["bucket"]), textOf(last["record_id"])];
  return { heads, cursor: place.join(" ") };
}

function parseCursor(cursor: string): Place {
  const [, businessUuid, bucket, recordId] = /^(\S+) (\d{1,3}) (\S+)$/.exec(cursor) ?? [];
  if (businessUuid === undefined || recordId === undefined)
    throw new RangeError("not a cursor of this store");
  return { businessUuid, bucket: Number(bucket), recordId };
}
