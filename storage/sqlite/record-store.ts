// Records in SQLite: the port's obligations R1–R5. A version is numbered by its generation, because the same bytes may be
// published again under another seal. Version rows are a few kilobytes, so their table is a rowid table with an index:
// measured with 36,000 versions, 200 more take 12 ms and a served read 15 µs; without rowid it is 26 ms and 33 µs.

import type { SQLOutputValue, StatementSync } from "node:sqlite";
import { concatBytes } from "../../protocol/bytes.ts";
import { BoundedMap } from "../../std/bounded-map.ts";
import type { ReadSignedRows } from "../receipt-store.ts";
import {
  type HeadPage,
  type RecordHead,
  type RecordStore,
  type RecordVersion,
  type ServedRecord,
  type StagedPushes,
  type StoredSeal,
  signedRowOf,
  type VersionDate,
  type VersionId,
  type VersionOrigin,
} from "../record-store.ts";
import { bytesOf, numberOf, numberOrNull, type Row, textOf } from "./columns.ts";
import { overwritingFreed, type SqliteDatabase } from "./database.ts";

// Tables of the records in SQLite. Record ids are spread evenly, so every tree that is keyed by them has about one page
// written for each record published. There is only one such tree: a record gets a number with its first head or version,
// and everything else is keyed by that number.

/** Number of a record's first versions that are scanned for given bytes; later ones are found by an index. */
const lookedThroughMax = 200;

/**
 * Migration steps of the tables, for {@link SqliteDatabase.migrate}. The first versions of a record are scanned one by one; few
 * records have more, so publishing seldom writes to the index by hash. A catalogue is read type by type, each in the order of
 * the numbers.
 */
const recordMigrations: readonly string[] = [
  `CREATE TABLE record_head (
     no INTEGER PRIMARY KEY, record_id TEXT NOT NULL UNIQUE, business_uuid TEXT NOT NULL, type TEXT NOT NULL,
     live INTEGER NOT NULL, generation INTEGER NOT NULL, change INTEGER NOT NULL, hash TEXT NOT NULL);
   CREATE TABLE record_version (
     record_no INTEGER NOT NULL, generation INTEGER NOT NULL, hash TEXT NOT NULL, seal_id TEXT NOT NULL,
     leaf_index INTEGER, cert_id TEXT NOT NULL, published_at INTEGER NOT NULL, proof BLOB NOT NULL,
     bytes BLOB NOT NULL, sidecar TEXT NOT NULL, row TEXT NOT NULL, PRIMARY KEY (record_no, generation));
   CREATE TABLE record_seal (seal_id TEXT PRIMARY KEY, envelope TEXT NOT NULL, tree_size INTEGER);
   CREATE TABLE staged_leaf (
     push_id TEXT NOT NULL, leaf INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (push_id, leaf));
   CREATE TABLE staged_document (
     push_id TEXT NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (push_id, name));
   CREATE TABLE staged_push (push_id TEXT PRIMARY KEY, staged_at INTEGER NOT NULL) WITHOUT ROWID;
   CREATE INDEX record_version_by_hash ON record_version (record_no, hash, generation)
     WHERE generation > ${lookedThroughMax};
   CREATE INDEX record_head_by_type ON record_head (business_uuid, type);`,
  `CREATE TABLE staged_pack (
     push_id TEXT NOT NULL, leaf INTEGER NOT NULL, leaves INTEGER NOT NULL, lengths TEXT NOT NULL, bytes BLOB NOT NULL,
     PRIMARY KEY (push_id, leaf));
   INSERT INTO staged_pack SELECT push_id, leaf, 1, '[' || length(bytes) || ']', bytes FROM staged_leaf;
   DROP TABLE staged_leaf;`,
];

/** Change number of a record that has versions but no head yet: it appears in no listing. */
const noHeadYet = -1;

/** Maximum number of cached seals; an envelope is about a kilobyte. */
const sealsMax = 1_000;
/** Maximum leaves of a push staged in one transaction, so that nobody waits behind a whole push. */
const stagedLeavesMax = 1_000;
const stagedBytesMax = 2 * 1024 * 1024;
/** A pack ends before a leaf whose number is a multiple of this: so many are read together (specification, «Limits»: background chunk). */
const packLeavesMax = 200;
const packBytesMax = 256 * 1024;
/** Maximum packs dropped in one transaction. */
const droppedPacksMax = 5;

/** Opens the record store in `database`, creating its tables if they are missing. `now` returns Unix milliseconds. */
export function openSqliteRecordStore(database: SqliteDatabase, now: () => number = Date.now): RecordStore {
  database.migrate("record", recordMigrations);
  const sql = prepareStatements(database);
  const seals = new BoundedMap<string, StoredSeal>(sealsMax);
  /** Seals never change, and the records of a batch share one: it is read once. */
  const sealOf = (sealId: string): StoredSeal | null => {
    const known = seals.get(sealId);
    if (known !== undefined) return known;
    const row = sql.readSeal.get(sealId);
    if (row === undefined) return null;
    const tree_size = numberOrNull(row["tree_size"]);
    const seal = { seal_id: sealId, envelope: textOf(row["envelope"]), tree_size };
    seals.set(sealId, seal);
    return seal;
  };
  const putVersions: RecordStore["putVersions"] = async (versions, heads) => {
    await database.write(() => {
      for (const head of heads) putHead(sql, head);
      for (const version of versions) putVersion(sql, version);
    });
  };
  return {
    ...stagedIn(database, sql, now),
    putSeal: async (seal) => {
      await database.write(() => sql.putSeal.run(seal.seal_id, seal.envelope, seal.tree_size));
    },
    readSeal: async (sealId) => sealOf(sealId),
    putVersions,
    putHeads: async (heads) => {
      await putVersions([], heads);
    },
    readHead: async (recordId) => {
      const row = sql.readHead.get(recordId);
      return row === undefined ? null : headOf(row);
    },
    listHeads: async (cursor, limit) => pageOf(sql.listHeads.all(parseCursor(cursor), limit), limit),
    listCatalogue: async (businessUuid, cursor, limit, type = null) =>
      readCatalogue(sql, { businessUuid, cursor, limit, type }),
    readServed: async (recordId) => {
      // Every fetch needs this: columns as an array take half the time of columns as an object.
      const columns = sql.readServed.get(recordId) as unknown as readonly SQLOutputValue[] | undefined;
      if (columns === undefined) return null;
      const served = servedOf(columns);
      const seal = sealOf(served.version.seal_id);
      return seal === null ? null : { ...served, seal };
    },
    readRows: async (ids) =>
      ids.flatMap(({ record_id, generation, hash }) => {
        const found = sql.readRow.get(record_id, generation, hash);
        return found ? [{ record_id, generation, hash, row: textOf(found["row"]) }] : [];
      }),
    readOrigins: async (ids) =>
      ids.flatMap((id) => {
        const found = sql.readOrigin.get(id.record_id, id.generation, id.hash);
        return found === undefined ? [] : [originOf(id, found)];
      }),
    listVersions: async (recordId, belowGeneration, limit) =>
      sql.listVersions.all(recordId, belowGeneration ?? Number.MAX_SAFE_INTEGER, limit).map(dateOf),
    newestWith: async (...asked) => {
      const [indexed, lookedThrough] = sql.newestWith;
      const found = indexed.get(...asked) ?? lookedThrough.get(...asked);
      return found === undefined ? null : dateOf(found);
    },
    readPublished: async ({ record_id, generation, hash }) => {
      const found = sql.readPublished.get(record_id, generation, hash);
      if (found === undefined) return null;
      return {
        record_id,
        generation,
        hash,
        row: textOf(found["row"]),
        sidecar: textOf(found["sidecar"]),
        seal_id: textOf(found["seal_id"]),
        leaf_index: numberOrNull(found["leaf_index"]),
        proof: bytesOf(found["proof"]),
      };
    },
    purgeVersions: async (versions) => {
      await database.write((db) => {
        overwritingFreed(db, () => {
          const statement = database.prepare(purge);
          for (const { record_id, generation, hash, remains } of versions)
            statement.run(remains, generation, hash, record_id);
        });
      });
    },
    overwriteUnused: () => database.overwriteUnused(),
  };
}

/** Reads what receipts name of versions in this database. */
export function signedRowsIn(database: SqliteDatabase): ReadSignedRows {
  return async (versions) => {
    const read = database.prepare(
      `SELECT v.hash, v.row, v.sidecar FROM record_head h JOIN record_version v ON v.record_no = h.no
       WHERE h.record_id = ? AND v.generation = ?`,
    );
    return versions.map(({ record_id, generation }) => {
      const found = read.get(record_id, generation);
      if (found === undefined) return null;
      const [hash, row, sidecar] = [found["hash"], found["row"], found["sidecar"]].map(textOf);
      return signedRowOf({ hash: hash ?? "", row: row ?? "", sidecar: sidecar ?? "" });
    });
  };
}

function putVersion(sql: Statements, version: RecordVersion): void {
  if (insertVersion(sql, version)) return;
  // Either the version exists already, or its record has no number yet: a version may arrive before any head.
  const { record_id: id, business_uuid: uuid, type } = version;
  if (sql.putNumber.run(id, uuid, type).changes > 0) insertVersion(sql, version);
}

function insertVersion(sql: Statements, version: RecordVersion): boolean {
  const { generation, hash, seal_id, leaf_index, cert_id, published_at_ms } = version;
  const { proof, bytes, sidecar, row, record_id } = version;
  const facts = [generation, hash, seal_id, leaf_index, cert_id, published_at_ms] as const;
  return sql.putVersion.run(...facts, proof, bytes, sidecar, row, record_id).changes > 0;
}

function putHead(sql: Statements, head: RecordHead): void {
  const { record_id, business_uuid, type, live, generation, change, hash } = head;
  sql.putHead.run(record_id, business_uuid, type, live ? 1 : 0, generation, change, hash);
}

/** What is staged for pushes. */
function stagedIn(database: SqliteDatabase, sql: Statements, now: () => number): StagedPushes {
  return {
    stageLeaves: async (pushId, firstLeaf, leaves) => {
      for (let from = 0; from < leaves.length; ) {
        const first = from;
        const end = endOfSlice(leaves, first);
        await database.write(() => {
          sql.listStaged.run(pushId, now());
          for (let at = first; at < end; ) {
            const pack = leaves.slice(at, Math.min(end, endOfPack(leaves, at, firstLeaf)));
            const lengths = JSON.stringify(pack.map(({ length }) => length));
            sql.stagePack.run(pushId, firstLeaf + at, pack.length, lengths, concatBytes(...pack));
            at += pack.length;
          }
        });
        from = end;
      }
    },
    loadLeaves: async (pushId, firstLeaf, count) => {
      const packs = sql.loadPacks.all(pushId, firstLeaf - packLeavesMax, firstLeaf + count, firstLeaf);
      return leavesIn(packs, firstLeaf, count);
    },
    dropStaged: async (pushId, untilMs = Number.POSITIVE_INFINITY) => {
      let dropped: number;
      do {
        dropped = await database.write(() => {
          if (numberOf(sql.stagedAt.get(pushId)?.["staged_at"] ?? 0) > untilMs) return 0;
          sql.dropDocuments.run(pushId);
          const packs = Number(sql.dropPacks.run(pushId, droppedPacksMax).changes);
          // The push stays listed until everything of it is gone.
          if (packs < droppedPacksMax) sql.unlistStaged.run(pushId);
          return packs;
        });
      } while (dropped === droppedPacksMax);
    },
    putStagedDocument: async (pushId, name, body) => {
      await database.write(() => {
        sql.listStaged.run(pushId, now());
        sql.putDocument.run(pushId, name, body);
      });
    },
    readStagedDocument: async (pushId, name) => {
      const row = sql.readDocument.get(pushId, name);
      return row === undefined ? null : textOf(row["body"]);
    },
    stagedPushes: async (cursor, limit) => {
      const pushes = sql.stagedPushes.all(cursor ?? "", limit).map((row) => ({
        push_id: textOf(row["push_id"]),
        staged_at_ms: numberOf(row["staged_at"]),
      }));
      return { pushes, cursor: pushes.length < limit ? null : (pushes.at(-1)?.push_id ?? null) };
    },
  };
}

/** One past the last leaf that goes into the same transaction as leaf `first`. */
function endOfSlice(leaves: readonly Uint8Array[], first: number): number {
  let bytes = 0;
  let end = first;
  while (end < leaves.length && end - first < stagedLeavesMax && (end === first || bytes < stagedBytesMax)) {
    bytes += leaves[end]?.length ?? 0;
    end += 1;
  }
  return end;
}

// Leaves are staged in packs, of which a row has one: a push of ten thousand leaves is written, read and dropped by fifty statements each.
//   SP1. Of one push, leaf i is the same bytes in every pack that has it. So packs may overlap, and of two that begin with the same leaf
//        the longer one is kept.

/** One past the last leaf of the pack that begins with leaf `first` of these. */
function endOfPack(leaves: readonly Uint8Array[], first: number, firstLeaf: number): number {
  const most = first + packLeavesMax - ((firstLeaf + first) % packLeavesMax);
  let bytes = leaves[first]?.length ?? 0;
  let end = first + 1;
  for (; end < Math.min(most, leaves.length); end += 1) {
    bytes += leaves[end]?.length ?? 0;
    if (bytes > packBytesMax) break;
  }
  return end;
}

/** The leaves `[firstLeaf, firstLeaf + count)` that are in the packs, which are in the order of their first leaves (SP1). */
function leavesIn(packs: readonly Row[], firstLeaf: number, count: number): readonly Uint8Array[] {
  const leaves: Uint8Array[] = [];
  let next = firstLeaf;
  for (const pack of packs) {
    const bytes = bytesOf(pack["bytes"]);
    let leaf = numberOf(pack["leaf"]);
    let from = 0;
    for (const length of JSON.parse(textOf(pack["lengths"])) as readonly number[]) {
      if (leaf >= next && leaf < firstLeaf + count) {
        leaves.push(bytes.subarray(from, from + length));
        next = leaf + 1;
      }
      from += length;
      leaf += 1;
    }
  }
  return leaves;
}

type Statements = ReturnType<typeof prepareStatements>;

function prepareStatements(database: SqliteDatabase) {
  const heads = "SELECT no, record_id, business_uuid, type, live, generation, change, hash FROM record_head";
  const ofVersion = `FROM record_head h JOIN record_version v ON v.record_no = h.no
    WHERE h.record_id = ? AND v.generation = ? AND v.hash = ?`;
  return {
    stagePack: database.prepare(
      `INSERT INTO staged_pack VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
         leaves = excluded.leaves, lengths = excluded.lengths, bytes = excluded.bytes
       WHERE excluded.leaves > staged_pack.leaves`,
    ),
    loadPacks: database.prepare(
      "SELECT leaf, lengths, bytes FROM staged_pack WHERE push_id = ? AND leaf > ? AND leaf < ? AND leaf + leaves > ? ORDER BY leaf",
    ),
    dropPacks: database.prepare(
      "DELETE FROM staged_pack WHERE rowid IN (SELECT rowid FROM staged_pack WHERE push_id = ? LIMIT ?)",
    ),
    dropDocuments: database.prepare("DELETE FROM staged_document WHERE push_id = ?"),
    putDocument: database.prepare("INSERT OR REPLACE INTO staged_document VALUES (?, ?, ?)"),
    readDocument: database.prepare("SELECT body FROM staged_document WHERE push_id = ? AND name = ?"),
    listStaged: database.prepare(
      `INSERT INTO staged_push VALUES (?, ?)
         ON CONFLICT DO UPDATE SET staged_at = max(staged_at, excluded.staged_at)`,
    ),
    stagedAt: database.prepare("SELECT staged_at FROM staged_push WHERE push_id = ?"),
    unlistStaged: database.prepare("DELETE FROM staged_push WHERE push_id = ?"),
    stagedPushes: database.prepare(
      "SELECT push_id, staged_at FROM staged_push WHERE push_id > ? ORDER BY push_id LIMIT ?",
    ),
    putSeal: database.prepare("INSERT INTO record_seal VALUES (?, ?, ?) ON CONFLICT DO NOTHING"),
    readSeal: database.prepare("SELECT seal_id, envelope, tree_size FROM record_seal WHERE seal_id = ?"),
    putVersion: database.prepare(
      `INSERT INTO record_version SELECT no, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM record_head WHERE record_id = ?
       ON CONFLICT DO NOTHING`,
    ),
    putNumber: database.prepare(
      `INSERT INTO record_head (record_id, business_uuid, type, live, generation, change, hash)
       VALUES (?, ?, ?, 0, 0, ${noHeadYet}, '') ON CONFLICT DO NOTHING`,
    ),
    putHead: database.prepare(
      // A record id is derived from business and type, so they never change.
      `INSERT INTO record_head (record_id, business_uuid, type, live, generation, change, hash)
       VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (record_id) DO UPDATE SET
         live = excluded.live, generation = excluded.generation, change = excluded.change, hash = excluded.hash
       WHERE excluded.change > record_head.change`,
    ),
    readHead: database.prepare(`${heads} WHERE record_id = ? AND change > ${noHeadYet}`),
    listHeads: database.prepare(`${heads} WHERE no > ? AND change > ${noHeadYet} ORDER BY no LIMIT ?`),
    // Heads of a type after a number, and the first type of the business after a type.
    listCatalogue: database.prepare(
      `${heads} WHERE business_uuid = ? AND type = ? AND no > ? AND change > ${noHeadYet} ORDER BY no LIMIT ?`,
    ),
    nextType: database.prepare(
      "SELECT type FROM record_head WHERE business_uuid = ? AND type > ? ORDER BY type LIMIT 1",
    ),
    readOrigin: database.prepare(`SELECT v.bytes, v.sidecar, v.published_at ${ofVersion}`),
    readServed: inArrays(
      database.prepare(
        `SELECT h.record_id, h.business_uuid, h.type, h.live, h.generation, h.change, h.hash,
         v.bytes, v.leaf_index, v.proof, v.sidecar, v.row, v.cert_id, v.published_at, v.seal_id
       FROM record_head h
       JOIN record_version v ON v.record_no = h.no AND v.generation = h.generation AND v.hash = h.hash
       WHERE h.record_id = ? AND h.live = 1`,
      ),
    ),
    readRow: database.prepare(`SELECT v.row ${ofVersion}`),
    readPublished: database.prepare(`SELECT v.row, v.sidecar, v.seal_id, v.leaf_index, v.proof ${ofVersion}`),
    newestWith: newestWith(database),
    listVersions: database.prepare(
      `SELECT v.generation, v.hash, v.published_at FROM record_head h JOIN record_version v ON v.record_no = h.no
       WHERE h.record_id = ? AND v.generation < ? ORDER BY v.generation DESC LIMIT ?`,
    ),
  };
}

/** Statements for a record's versions beyond those that are looked through, and for these. */
function newestWith(
  database: SqliteDatabase,
): readonly [indexed: StatementSync, lookedThrough: StatementSync] {
  const statement = (version: string, isHere: string): StatementSync =>
    database.prepare(`SELECT v.generation, v.hash, v.published_at
      FROM record_head h JOIN record_version ${version} ON v.record_no = h.no
      WHERE h.record_id = ? AND v.hash = ? AND v.generation < ? AND ${isHere} ORDER BY v.generation DESC LIMIT 1`);
  return [
    statement("v INDEXED BY record_version_by_hash", `v.generation > ${lookedThroughMax}`),
    statement("v", `v.generation <= ${lookedThroughMax}`),
  ];
}

/** A cursor is the number of a page's last record behind a mark, which distinguishes it from cursors of other stores. */
const cursorMark = "after:";

function parseCursor(cursor: string | null): number {
  if (cursor === null) return 0;
  const no = /^after:([1-9]\d{0,15})$/.exec(cursor)?.[1];
  if (no === undefined) throw new RangeError("not a cursor of this store");
  return Number(no);
}

function pageOf(rows: readonly Row[], limit: number): HeadPage {
  const last = rows.at(-1);
  const cursor = last === undefined || rows.length < limit ? null : `${cursorMark}${numberOf(last["no"])}`;
  return { heads: rows.map(headOf), cursor };
}

function inArrays(statement: StatementSync): StatementSync {
  statement.setReturnArrays(true);
  return statement;
}

// The catalogue of a business in SQLite: one type after another, each in the order of its records' numbers. A number never
// changes and belongs to one type, so a head is listed once (R5), and a page reads only the rows that it shows.

interface CataloguePage {
  readonly businessUuid: string;
  readonly cursor: string | null;
  readonly limit: number;
  readonly type: string | null;
}

function readCatalogue(sql: Statements, asked: CataloguePage): HeadPage {
  const { businessUuid, limit, type: only } = asked;
  const nextType = (after: string): string | null => {
    if (only !== null) return after === "" ? only : null;
    const found = sql.nextType.get(businessUuid, after);
    return found === undefined ? null : textOf(found["type"]);
  };
  let place = asked.cursor === null ? { type: nextType(""), no: 0 } : parseListCursor(asked.cursor, only);
  const rows: Row[] = [];
  while (place.type !== null) {
    rows.push(...sql.listCatalogue.all(businessUuid, place.type, place.no, limit - rows.length));
    if (rows.length >= limit) break;
    place = { type: nextType(place.type), no: 0 };
  }
  const last = rows.at(-1);
  const isFull = last !== undefined && rows.length >= limit;
  const cursor = isFull ? `after:${textOf(last["type"])}:${numberOf(last["no"])}` : null;
  return { heads: rows.map(headOf), cursor };
}

function parseListCursor(
  cursor: string,
  only: string | null,
): { readonly type: string | null; readonly no: number } {
  const [, type, no] = /^after:([^:]+):([1-9]\d{0,15})$/.exec(cursor) ?? [];
  if (type === undefined || (only !== null && type !== only))
    throw new RangeError("not a cursor of this catalogue");
  return { type, no: Number(no) };
}

// Converts rows of the record tables.

function dateOf(row: Row): VersionDate {
  return {
    generation: numberOf(row["generation"]),
    hash: textOf(row["hash"]),
    published_at_ms: numberOf(row["published_at"]),
  };
}

function headOf(row: Row): RecordHead {
  return {
    record_id: textOf(row["record_id"]),
    business_uuid: textOf(row["business_uuid"]),
    type: textOf(row["type"]),
    live: row["live"] === 1,
    generation: numberOf(row["generation"]),
    change: numberOf(row["change"]),
    hash: textOf(row["hash"]),
  };
}

/** Converts the columns of `readServed`, in their order. */
function servedOf(columns: readonly SQLOutputValue[]): Omit<ServedRecord, "seal"> {
  const [id, uuid, type, , generation, change, hash, ...rest] = columns;
  const [bytes, leaf, proof, sidecar, row, certId, publishedAt, sealId] = rest;
  const common = {
    record_id: textOf(id),
    business_uuid: textOf(uuid),
    type: textOf(type),
    generation: numberOf(generation),
    hash: textOf(hash),
  };
  return {
    head: { ...common, live: true, change: numberOf(change) },
    version: {
      ...common,
      bytes: bytesOf(bytes),
      seal_id: textOf(sealId),
      leaf_index: numberOrNull(leaf),
      proof: bytesOf(proof),
      sidecar: textOf(sidecar),
      row: textOf(row),
      cert_id: textOf(certId),
      published_at_ms: numberOf(publishedAt),
    },
  };
}

function originOf({ record_id, generation, hash }: VersionId, row: Row): VersionOrigin {
  return {
    record_id,
    generation,
    hash,
    bytes: bytesOf(row["bytes"]),
    sidecar: textOf(row["sidecar"]),
    published_at_ms: numberOf(row["published_at"]),
  };
}

// Empties purged versions in the record store's file.

const purge = `UPDATE record_version SET bytes = x'', row = '', sidecar = ? WHERE generation = ? AND hash = ?
  AND record_no = (SELECT no FROM record_head WHERE record_id = ?)`;
