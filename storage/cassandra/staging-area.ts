// The staging area in Cassandra: any node takes an upload, and any other imports it.
//   B1. A file has one row that says what it is, agreed on within the region: it is a draft until it is finished, by
//       whichever node. Its records are in rows of other partitions, of about 16 MB each.
//   B2. A row of records contains several consecutive ones with their leaf hashes, because a row costs the engine as much
//       as its bytes.
//   B3. Rows expire on their own, so what a writer adds to a file that was removed meanwhile does not stay (S5).
//   B4. A region to which a file is still on its way reports that it cannot be read yet, and not that it is shorter.

import { concatBytes } from "../../protocol/bytes.ts";
import { BoundedMap } from "../../std/bounded-map.ts";
import { Semaphore } from "../../std/semaphore.ts";
import { StoreError } from "../actor-store.ts";
import {
  assertFileName,
  type FileLeaf,
  keptMs,
  type StagedFileWriter,
  type StagingArea,
  staging,
} from "../staging-area.ts";
import { bytesOf, numberOf } from "./columns.ts";
import { type CassandraSession, type CqlRow, executeAll, type StatementOptions } from "./session.ts";

const options = "gc_grace_seconds = 10800 AND compaction = {'class': 'UnifiedCompactionStrategy'}";

export const stagingTables: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS bulk_file (
     name text PRIMARY KEY, state text, records int, firsts blob) WITH ${options}`,
  `CREATE TABLE IF NOT EXISTS bulk_records (
     name text, slab int, row int, ends blob, hashes blob, bytes blob, PRIMARY KEY ((name, slab), row)) WITH ${options}`,
];

const seconds = Math.ceil(keptMs / 1_000);
const cql = {
  create: `INSERT INTO bulk_file (name, state) VALUES (?, 'draft') IF NOT EXISTS USING TTL ${seconds}`,
  finish: `UPDATE bulk_file USING TTL ${seconds} SET state = 'done', records = ?, firsts = ?
    WHERE name = ? IF state = 'draft'`,
  discard: "DELETE FROM bulk_file WHERE name = ? IF state = 'draft'",
  remove: "DELETE FROM bulk_file WHERE name = ? IF EXISTS",
  file: "SELECT state, records, firsts FROM bulk_file WHERE name = ?",
  add: `INSERT INTO bulk_records (name, slab, row, ends, hashes, bytes) VALUES (?, ?, ?, ?, ?, ?) USING TTL ${seconds}`,
  records: "SELECT row, ends, bytes FROM bulk_records WHERE name = ? AND slab = ? AND row >= ? AND row <= ?",
  hashes: "SELECT row, hashes FROM bulk_records WHERE name = ? AND slab = ?",
  drop: "DELETE FROM bulk_records WHERE name = ? AND slab = ?",
} as const;

/** Maximum records and bytes of one row: far below the engine's limits, and enough to keep rows few. */
const recordsPerRow = 100;
const bytesPerRow = 256 * 1024;
/** Rows of one partition, and the partitions that the largest file can have. Changing the former loses what is staged. */
const rowsPerSlab = 64;
const slabsMax = 32;
const rowsPerPage = 32;
const lanesMax = 16;
/** Number of files whose index is kept in memory: a few kilobytes each. */
const indexesMax = 64;

const plain = { idempotent: true } as const;
const agreed = { idempotent: false } as const;

export interface CassandraStagingOptions {
  /** Acknowledges a write only once other regions have it. */
  readonly replicateBeforeAck?: boolean;
}

interface FileIndex {
  readonly records: number;
  /** The first record of each row. */
  readonly firsts: readonly number[];
}

export function openCassandraStagingArea(
  session: CassandraSession,
  { replicateBeforeAck = false }: CassandraStagingOptions = {},
): StagingArea {
  const put: StatementOptions = replicateBeforeAck ? { ...plain, consistency: "EACH_QUORUM" } : plain;
  const lanes = new Semaphore(lanesMax);
  const indexes = new BoundedMap<string, FileIndex>(indexesMax);
  const indexOf = async (name: string): Promise<FileIndex | null> => {
    assertFileName(name);
    const known = indexes.get(name);
    if (known !== undefined) return known;
    const index = await readIndex(session, name);
    if (index !== null) indexes.set(name, index);
    return index;
  };
  return {
    create: async (name) => {
      assertFileName(name);
      return staging(async () => {
        const { applied } = await session.execute(cql.create, [name], agreed);
        if (!applied) throw new Error(`${name} exists already.`);
        return writerOf(session, name, { put, lanes });
      });
    },
    readLeaves: async (name, first, count) => {
      const index = await indexOf(name);
      return index && readRecords(session, name, index, first, Math.min(index.records, first + count));
    },
    readHashes: async (name) => {
      const index = await indexOf(name);
      return index && readHashes(session, name, index);
    },
    remove: async (name) => {
      assertFileName(name);
      indexes.delete(name);
      await session.execute(cql.remove, [name], agreed);
      await dropRecords(session, name, lanes);
    },
  };
}

async function readIndex(session: CassandraSession, name: string): Promise<FileIndex | null> {
  const { rows } = await session.execute(cql.file, [name], plain);
  const [row] = rows;
  if (row?.["state"] !== "done") return null;
  const packed = bytesOf(row["firsts"]);
  return { records: numberOf(row["records"]), firsts: numbersIn(packed) };
}

async function readRecords(
  session: CassandraSession,
  name: string,
  index: FileIndex,
  first: number,
  end: number,
): Promise<readonly Uint8Array[]> {
  if (first >= end) return [];
  const [from, to] = [rowWith(index, first), rowWith(index, end - 1)];
  const found: Uint8Array[] = [];
  for (let slab = slabOf(from); slab <= slabOf(to); slab += 1) {
    const params = [name, slab, from, to];
    const rows = await executeAll(session, cql.records, params, { ...plain, fetchSize: rowsPerPage });
    for (const row of rows) found.push(...recordsIn(row));
  }
  const skipped = first - (index.firsts[from] ?? 0);
  const wanted = found.slice(skipped, skipped + end - first);
  if (wanted.length < end - first) throw notHereYet(name);
  return wanted;
}

async function readHashes(session: CassandraSession, name: string, index: FileIndex): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for (let slab = 0; slab <= slabOf(index.firsts.length - 1); slab += 1) {
    const rows = await executeAll(session, cql.hashes, [name, slab], plain);
    parts.push(...rows.map((row) => bytesOf(row["hashes"])));
  }
  const hashes = concatBytes(...parts);
  if (hashes.length !== index.records * hashBytes) throw notHereYet(name);
  return hashes;
}

const hashBytes = 32;

/** See B4. */
function notHereYet(name: string): StoreError {
  return new StoreError("not_applied", `rows of ${name} are not readable here yet`);
}

function slabOf(row: number): number {
  return Math.floor(row / rowsPerSlab);
}

/** The row that contains a record: the last one that does not begin behind it. */
function rowWith({ firsts }: FileIndex, record: number): number {
  let [low, high] = [0, firsts.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((firsts[middle] ?? 0) <= record) low = middle;
    else high = middle - 1;
  }
  return low;
}

function recordsIn(row: CqlRow): readonly Uint8Array[] {
  const bytes = bytesOf(row["bytes"]);
  let from = 0;
  return numbersIn(bytesOf(row["ends"])).map((end) => {
    const record = bytes.slice(from, end);
    from = end;
    return record;
  });
}

async function dropRecords(session: CassandraSession, name: string, lanes: Semaphore): Promise<void> {
  const slabs = Array.from({ length: slabsMax }, (_, slab) => slab);
  await lanes.all(slabs.map((slab) => () => session.execute(cql.drop, [name, slab], plain)));
}

function writerOf(
  session: CassandraSession,
  name: string,
  { put, lanes }: { readonly put: StatementOptions; readonly lanes: Semaphore },
): StagedFileWriter {
  const firsts: number[] = [];
  let records = 0;
  let waiting: FileLeaf[] = [];
  let waitingBytes = 0;
  /** The write of a row with what waits; its number is fixed at once. */
  const closeRow = (): (() => Promise<unknown>) => {
    const leaves = waiting;
    const row = firsts.length;
    firsts.push(records);
    records += leaves.length;
    waiting = [];
    waitingBytes = 0;
    let end = 0;
    const ends = leaves.map(({ bytes }) => {
      end += bytes.length;
      return end;
    });
    const hashes = concatBytes(...leaves.map(({ hash }) => hash));
    const bytes = concatBytes(...leaves.map((leaf) => leaf.bytes));
    const params = [name, slabOf(row), row, numbered(ends), hashes, bytes];
    return () => session.execute(cql.add, params, put);
  };
  return {
    append: (leaves) =>
      staging(async () => {
        const rows: (() => Promise<unknown>)[] = [];
        for (const leaf of leaves) {
          waiting.push(leaf);
          waitingBytes += leaf.bytes.length;
          if (waiting.length === recordsPerRow || waitingBytes >= bytesPerRow) rows.push(closeRow());
        }
        await lanes.all(rows);
      }),
    finish: () =>
      staging(async () => {
        if (waiting.length > 0) await closeRow()();
        const { applied } = await session.execute(cql.finish, [records, numbered(firsts), name], agreed);
        if (!applied) throw new Error(`${name} was removed while it was written.`);
      }),
    discard: async () => {
      try {
        const { applied } = await session.execute(cql.discard, [name], agreed);
        if (applied) await dropRecords(session, name, lanes);
      } catch {
        // The upload's actor removes it, or it expires.
      }
    },
  };
}

/** 32-bit numbers, big-endian. */
function numbered(values: readonly number[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(values.length * 4));
  for (const [index, value] of values.entries()) view.setUint32(index * 4, value);
  return new Uint8Array(view.buffer);
}

function numbersIn(packed: Uint8Array): readonly number[] {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  return Array.from({ length: packed.length / 4 }, (_, index) => view.getUint32(index * 4));
}
