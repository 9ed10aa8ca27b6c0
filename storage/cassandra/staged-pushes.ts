// What is staged of incomplete pushes, in Cassandra.
//   P1. A push is listed before anything of it is stored, and until everything of it is gone.
//   P2. A drop removes what was staged up to the newest stamp in the list, whatever the dropping node's clock says: a push
//       that is staged again later is not touched (W4 in write-timestamps.ts), not even during the drop (R6).
//   P3. A row contains several consecutive leaves, because a row costs the engine as much as its bytes. Rows may overlap
//       where a push was staged again in other pieces: if a leaf is in two rows, the one with the later stamp counts. A
//       row is replaced only by one with exactly the same leaves.

import { concatBytes } from "../../protocol/bytes.ts";
import { Semaphore } from "../../std/semaphore.ts";
import type { RecordStore, StagedPush } from "../record-store.ts";
import { bucketOf } from "./buckets.ts";
import { bytesOf, numberOf, textOf } from "./columns.ts";
import { type CassandraSession, type CqlRow, executeAll, type StatementOptions } from "./session.ts";
import { msOfStamp, type WriteTimestamps } from "./write-timestamps.ts";

type StagedPushes = Pick<
  RecordStore,
  "stageLeaves" | "loadLeaves" | "dropStaged" | "putStagedDocument" | "readStagedDocument" | "stagedPushes"
>;

/**
 * Partitions of the list of pushes. Ids have no order in time, so a listing walks over all that was dropped within the table's grace of
 * ten minutes: at a hundred pushes a second, a thousand rows of each partition. Changing the number loses what is listed.
 */
const shards = 64;
/** A listing is no flood, and ends at the first read that fails: the driver gives a connection up after 64 time-outs. */
const readsAtOnce = 8;
/** Maximum leaves and bytes in one row: far below the engine's limits, and enough to keep rows few. */
const leavesPerRow = 100;
const bytesPerRow = 256 * 1024;
/** Rows per page: 8 MB. */
const rowsPerPage = 32;

const cql = {
  list: "INSERT INTO staged_push (shard, push_id, stamp) VALUES (?, ?, ?) USING TIMESTAMP ?",
  listed: "SELECT stamp FROM staged_push WHERE shard = ? AND push_id = ?",
  unlist: "DELETE FROM staged_push USING TIMESTAMP ? WHERE shard = ? AND push_id = ?",
  pushes: "SELECT push_id, stamp FROM staged_push WHERE shard = ? AND push_id > ? LIMIT ?",
  stage: `INSERT INTO staged_leaves (push_id, first, leaves, ends, bytes) VALUES (?, ?, ?, ?, ?)
    USING TIMESTAMP ?`,
  leaves: `SELECT first, ends, bytes, WRITETIME(bytes) AS stamp FROM staged_leaves
    WHERE push_id = ? AND first > ? AND first < ?`,
  dropLeaves: "DELETE FROM staged_leaves USING TIMESTAMP ? WHERE push_id = ?",
  putDocument: "INSERT INTO staged_document (push_id, name, body) VALUES (?, ?, ?) USING TIMESTAMP ?",
  document: "SELECT body FROM staged_document WHERE push_id = ? AND name = ?",
  dropDocuments: "DELETE FROM staged_document USING TIMESTAMP ? WHERE push_id = ?",
} as const;

const plain = { idempotent: true } as const;

export interface StagingOptions {
  readonly lanes: Semaphore;
  readonly stamps: WriteTimestamps;
  /** Options of puts; dropped rows may reappear elsewhere without harm. */
  readonly put: StatementOptions;
}

export function stagedPushesIn(
  session: CassandraSession,
  { lanes, stamps, put }: StagingOptions,
): StagedPushes {
  const list = async (pushId: string): Promise<number> => {
    const stamp = stamps.rising();
    await session.execute(cql.list, [shardOf(pushId), pushId, stamp, stamp], put);
    return stamp;
  };
  return {
    stageLeaves: async (pushId, firstLeaf, leaves) => {
      if (leaves.length === 0) return;
      const stamp = await list(pushId);
      const rows = slices(leaves).map(([from, end]) => {
        const { ends, bytes } = packLeaves(leaves.slice(from, end));
        return [pushId, firstLeaf + from, end - from, ends, bytes, stamp];
      });
      await lanes.all(rows.map((row) => () => session.execute(cql.stage, row, put)));
    },
    loadLeaves: async (pushId, firstLeaf, count) => {
      const params = [pushId, firstLeaf - leavesPerRow, firstLeaf + count];
      const rows = await executeAll(session, cql.leaves, params, { ...plain, fetchSize: rowsPerPage });
      return leavesIn(rows, firstLeaf, count).filter((leaf) => leaf !== undefined);
    },
    dropStaged: (pushId, untilMs = Number.POSITIVE_INFINITY) => drop(session, pushId, untilMs),
    putStagedDocument: async (pushId, name, body) => {
      const stamp = await list(pushId);
      await session.execute(cql.putDocument, [pushId, name, body, stamp], put);
    },
    readStagedDocument: async (pushId, name) => {
      const { rows } = await session.execute(cql.document, [pushId, name], plain);
      return rows[0] === undefined ? null : textOf(rows[0]["body"]);
    },
    stagedPushes: (afterId, limit) => listPushes(session, afterId, limit),
  };
}

interface PackedLeaves {
  /** The end of each leaf in `bytes`: 32-bit numbers, big-endian. */
  readonly ends: Uint8Array;
  readonly bytes: Uint8Array;
}

function packLeaves(leaves: readonly Uint8Array[]): PackedLeaves {
  const ends = new DataView(new ArrayBuffer(leaves.length * 4));
  let end = 0;
  for (const [index, leaf] of leaves.entries()) {
    end += leaf.length;
    ends.setUint32(index * 4, end);
  }
  return { ends: new Uint8Array(ends.buffer), bytes: concatBytes(...leaves) };
}

/** Returns as many leaves as requested, undefined for one that is not in the rows (P3). */
function leavesIn(rows: readonly CqlRow[], firstLeaf: number, count: number): (Uint8Array | undefined)[] {
  const leaves: (Uint8Array | undefined)[] = new Array(count).fill(undefined);
  const inOrder = rows.toSorted((a, b) => numberOf(a["stamp"]) - numberOf(b["stamp"]));
  for (const row of inOrder) {
    const packed = bytesOf(row["ends"]);
    const ends = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
    const bytes = bytesOf(row["bytes"]);
    let from = 0;
    for (let index = 0; index * 4 < packed.length; index += 1) {
      const end = ends.getUint32(index * 4);
      const at = numberOf(row["first"]) + index - firstLeaf;
      if (at >= 0 && at < count) leaves[at] = bytes.subarray(from, end);
      from = end;
    }
  }
  return leaves;
}

/** Ranges of leaves that go into one row each. */
function slices(leaves: readonly Uint8Array[]): readonly (readonly [number, number])[] {
  const ranges: (readonly [number, number])[] = [];
  let from = 0;
  let bytes = 0;
  for (const [index, leaf] of leaves.entries()) {
    const isFull = index - from >= leavesPerRow || bytes + leaf.length > bytesPerRow;
    if (isFull && index > from) {
      ranges.push([from, index]);
      from = index;
      bytes = 0;
    }
    bytes += leaf.length;
  }
  ranges.push([from, leaves.length]);
  return ranges;
}

/** See P2. A concurrent writer stages under a later stamp. */
async function drop(session: CassandraSession, pushId: string, untilMs: number): Promise<void> {
  const { rows } = await session.execute(cql.listed, [shardOf(pushId), pushId], plain);
  if (rows[0] === undefined) return;
  const stamp = numberOf(rows[0]["stamp"]);
  if (msOfStamp(stamp) > untilMs) return;
  await Promise.all([
    session.execute(cql.dropLeaves, [stamp, pushId], plain),
    session.execute(cql.dropDocuments, [stamp, pushId], plain),
  ]);
  await session.execute(cql.unlist, [stamp, shardOf(pushId), pushId], plain);
}

async function listPushes(
  session: CassandraSession,
  afterId: string,
  limit: number,
): Promise<readonly StagedPush[]> {
  const reads = Array.from(
    { length: shards },
    (_, shard) => () => executeAll(session, cql.pushes, [shard, afterId, limit], plain),
  );
  const pushes = (await new Semaphore(readsAtOnce).all(reads)).flat().map((row) => ({
    push_id: textOf(row["push_id"]),
    staged_at_ms: msOfStamp(numberOf(row["stamp"])),
  }));
  return pushes.toSorted((a, b) => inByteOrder(a.push_id, b.push_id)).slice(0, limit);
}

/** Ids are ASCII, whose code units equal their bytes. */
function inByteOrder(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function shardOf(pushId: string): number {
  return bucketOf(pushId, shards);
}
