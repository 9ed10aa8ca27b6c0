// What is staged of incomplete pushes, in Cassandra.
//   P1. A push is listed before anything of it is stored, and until everything of it is gone (staged-list.ts).
//   P2. A drop removes what was staged up to the newest stamp in the list, whatever the dropping node's clock says: a push
//       that is staged again later is not touched (W4 in write-timestamps.ts), not even during the drop (R6).
//   P3. A row contains several consecutive leaves, because a row costs the engine as much as its bytes. Rows may overlap
//       where a push was staged again in other pieces: if a leaf is in two rows, the one with the later stamp counts. A
//       row is replaced only by one with exactly the same leaves.

import { concatBytes } from "../../protocol/bytes.ts";
import type { Semaphore } from "../../std/semaphore.ts";
import type { RecordStore } from "../record-store.ts";
import { bytesOf, numberOf, textOf } from "./columns.ts";
import { type CassandraSession, type CqlRow, executeAll, type StatementOptions } from "./session.ts";
import { StagedList } from "./staged-list.ts";
import { msOfStamp, type WriteTimestamps } from "./write-timestamps.ts";

type StagedPushes = Pick<
  RecordStore,
  "stageLeaves" | "loadLeaves" | "dropStaged" | "putStagedDocument" | "readStagedDocument" | "stagedPushes"
>;

/** Maximum leaves and bytes in one row: far below the engine's limits, and enough to keep rows few. */
const leavesPerRow = 100;
const bytesPerRow = 256 * 1024;
/** Rows per page: 8 MB. */
const rowsPerPage = 32;

const cql = {
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
  const list = new StagedList(session, stamps, put);
  return {
    stageLeaves: async (pushId, firstLeaf, leaves) => {
      if (leaves.length === 0) return;
      const stamp = await list.add(pushId);
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
    dropStaged: (pushId, untilMs = Number.POSITIVE_INFINITY) => drop(session, list, { pushId, untilMs }),
    putStagedDocument: async (pushId, name, body) => {
      const stamp = await list.add(pushId);
      await session.execute(cql.putDocument, [pushId, name, body, stamp], put);
    },
    readStagedDocument: async (pushId, name) => {
      const { rows } = await session.execute(cql.document, [pushId, name], plain);
      return rows[0] === undefined ? null : textOf(rows[0]["body"]);
    },
    stagedPushes: (cursor, limit) => list.page(cursor, limit),
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
async function drop(
  session: CassandraSession,
  list: StagedList,
  { pushId, untilMs }: { readonly pushId: string; readonly untilMs: number },
): Promise<void> {
  const place = await list.placeOf(pushId);
  if (place === null || msOfStamp(place.stamp) > untilMs) return;
  await Promise.all([
    session.execute(cql.dropLeaves, [place.stamp, pushId], plain),
    session.execute(cql.dropDocuments, [place.stamp, pushId], plain),
  ]);
  await list.remove(pushId, place);
}
