// What is staged of incomplete pushes, in Cassandra.
//   P1. A push is listed before anything of it is stored, and until everything of it is gone.
//   P2. A drop removes what was staged up to the newest stamp in the list, whatever the dropping node's clock says: a push
//       that is staged again later is not touched (W4 in columns.ts), not even during the drop (R6).
//   P3. A row contains several consecutive leaves, because a row costs the engine as much as its bytes. Rows may overlap
//       where a push was staged again in other pieces: if a leaf is in two rows, the one with the later stamp counts. A
//       row is replaced only by one with exactly the same leaves.

import { concatBytes } from "../../protocol/bytes.ts";
import type { Semaphore } from "../../std/semaphore.ts";
import type { StagedPage, StagedPush, StagedPushes } from "../record-store.ts";
import { bytesOf, msOfStamp, numberOf, numberOrNull, textOf, type WriteTimestamps } from "./columns.ts";
import { type CassandraSession, type CqlRow, executeAll, type StatementOptions } from "./session.ts";

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

// The list of pushes that have anything staged, by the time at which they were listed.
//   SL1. A push is listed in the slot (five minutes) of its own region and of the present; one that is staged again later is listed again.
//   SL2. A push that is dropped is struck out and not deleted. A slot that is over is deleted whole, once those of its pushes that are
//        still staged are listed in the present slot. So no read passes over rows that were deleted, however many pushes there were.
//   SL3. The floor of a region is the first of its slots that may contain any push. A slot is over when no node of its region can be
//        writing into it; for other regions after a day, because what they wrote may arrive late.
//   SL4. `staged_of_push` says whether anything of a push is staged. An entry of a push that is not in it is superfluous, and goes with
//        its slot.

export const stagedSlotMs = 300_000;
/** Slots that may still be written into: by a node whose clock is behind, or that stood still for less than `writeMs`. */
const openSlots = 2;
/** The same for other regions' slots: a day. */
const foreignOpenSlots = 288;
/** A push is listed within this time after its slot was chosen, or else listed again. */
const writeMs = 60_000;
/** Slots that are read at the same time. */
const lanes = 8;
const rowsPerRead = 1_000;
/** Rows that a page of the listing reads at most, most of which may be struck out. */
const listedPerPage = 20_000;

const listCql = {
  list: "INSERT INTO staged_push (region, slot, push_id, stamp) VALUES (?, ?, ?, ?) USING TIMESTAMP ?",
  strike:
    "UPDATE staged_push USING TIMESTAMP ? SET dropped = ? WHERE region = ? AND slot = ? AND push_id = ?",
  slot: "SELECT push_id, stamp, dropped FROM staged_push WHERE region = ? AND slot = ? AND push_id > ?",
  removeSlot: "DELETE FROM staged_push USING TIMESTAMP ? WHERE region = ? AND slot = ?",
  place: "INSERT INTO staged_of_push (push_id, region, slot, stamp) VALUES (?, ?, ?, ?) USING TIMESTAMP ?",
  placed: "SELECT region, slot, stamp FROM staged_of_push WHERE push_id = ?",
  unplace: "DELETE FROM staged_of_push USING TIMESTAMP ? WHERE push_id = ?",
  floors: "SELECT region, slot FROM staged_floor WHERE list = 'staged'",
  // The slot number is used as the write timestamp: the higher of two floors wins, in whatever order they are written.
  raise: "INSERT INTO staged_floor (list, region, slot) VALUES ('staged', ?, ?) USING TIMESTAMP ?",
} as const;

/** Where a push was listed last, and the stamp of what was staged of it last. */
export interface StagedPlace {
  readonly region: string;
  readonly slot: number;
  readonly stamp: number;
}

interface SlotRows {
  readonly region: string;
  readonly slot: number;
  readonly rows: readonly CqlRow[];
  readonly next: string | null;
}

class StagedList {
  readonly #session: CassandraSession;
  readonly #stamps: WriteTimestamps;
  readonly #put: StatementOptions;
  #hasFloor = false;

  constructor(session: CassandraSession, stamps: WriteTimestamps, put: StatementOptions) {
    this.#session = session;
    this.#stamps = stamps;
    this.#put = put;
  }

  /** Lists the push, and returns the stamp of what is about to be staged of it. */
  async add(pushId: string): Promise<number> {
    const stamp = this.#stamps.rising();
    if (!this.#hasFloor) await this.#floors(this.#put);
    await this.#list(pushId, stamp, this.#put);
    return stamp;
  }

  async placeOf(pushId: string): Promise<StagedPlace | null> {
    const { rows } = await this.#session.execute(listCql.placed, [pushId], plain);
    const row = rows[0];
    if (row === undefined) return null;
    return { region: textOf(row["region"]), slot: numberOf(row["slot"]), stamp: numberOf(row["stamp"]) };
  }

  /** Nothing of the push is staged up to the stamp of the place (SL2). */
  async remove(pushId: string, { region, slot, stamp }: StagedPlace): Promise<void> {
    await this.#session.execute(listCql.unplace, [stamp, pushId], plain);
    await this.#session.execute(listCql.strike, [stamp, stamp, region, slot, pushId], plain);
  }

  /** One page of the list: region by region, oldest slot first. */
  async page(cursor: string | null, limit: number): Promise<StagedPage> {
    const floors = await this.#floors(plain);
    if (cursor === null)
      for (const [region, floor] of floors) floors.set(region, await this.#tidy(region, floor));
    let after = cursor === null ? null : (JSON.parse(cursor) as Cursor);
    let read = 0;
    const pushes = new Map<string, StagedPush>();
    for (const [region, floor] of [...floors].sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (after !== null && region < after.region) continue;
      const begin = after?.region === region ? after : { region, slot: floor, pushId: "" };
      // A slot more, for a node whose clock is ahead.
      const last = slotOf(msOfStamp(this.#stamps.rising())) + 1;
      for await (const part of this.#slots(begin, last)) {
        for (const row of part.rows) {
          const push = stagedIn(row);
          if (push !== null) pushes.set(push.push_id, newerOf(pushes.get(push.push_id), push));
          after = { region, slot: part.slot, pushId: textOf(row["push_id"]) };
          read += 1;
          if (pushes.size === limit || read === listedPerPage)
            return { pushes: [...pushes.values()], cursor: JSON.stringify(after) };
        }
      }
    }
    return { pushes: [...pushes.values()], cursor: null };
  }

  /** See SL1. */
  async #list(pushId: string, stamp: number, put: StatementOptions): Promise<void> {
    const region = this.#session.localDc;
    for (;;) {
      const nowMs = msOfStamp(this.#stamps.rising());
      const slot = slotOf(nowMs);
      // The entry comes first: one who finds the place may rely on it.
      await this.#session.execute(listCql.list, [region, slot, pushId, stamp, stamp], put);
      await this.#session.execute(listCql.place, [pushId, region, slot, stamp, stamp], put);
      // A process that was paused meanwhile may have written into a slot that is over (SL3).
      if (msOfStamp(this.#stamps.rising()) - nowMs <= writeMs) return;
    }
  }

  /** Removes the slots that are over (SL2); returns the new floor. */
  async #tidy(region: string, floor: number): Promise<number> {
    const open = region === this.#session.localDc ? openSlots : foreignOpenSlots;
    const end = slotOf(msOfStamp(this.#stamps.rising())) - open;
    if (end <= floor) return floor;
    const used = new Set<number>();
    for await (const { slot, rows } of this.#slots({ region, slot: floor, pushId: "" }, end - 1)) {
      if (rows.length > 0) used.add(slot);
      for (const row of rows) if (stagedIn(row) !== null) await this.#keep(textOf(row["push_id"]));
    }
    for (const slot of used)
      await this.#session.execute(listCql.removeSlot, [this.#stamps.rising(), region, slot], plain);
    await this.#session.execute(listCql.raise, [region, end, end], plain);
    return end;
  }

  /** Lists a push in the present slot, if anything of it is staged (SL4). */
  async #keep(pushId: string): Promise<void> {
    const place = await this.placeOf(pushId);
    if (place !== null) await this.#list(pushId, place.stamp, plain);
  }

  /** The rows behind `begin` of its slot and the slots up to `last`, in pieces. */
  async *#slots(begin: Cursor, last: number): AsyncIterable<SlotRows> {
    for (let from = begin.slot; from <= last; from += lanes) {
      const slots = Array.from({ length: Math.min(lanes, last - from + 1) }, (_, lane) => from + lane);
      const read = (slot: number, pageState?: string) => {
        const pushId = slot === begin.slot ? begin.pushId : "";
        return this.#read({ region: begin.region, slot, pushId }, pageState);
      };
      for (const first of await Promise.all(slots.map((slot) => read(slot)))) {
        let part = first;
        yield part;
        while (part.next !== null) {
          part = await read(part.slot, part.next);
          yield part;
        }
      }
    }
  }

  async #read({ region, slot, pushId }: Cursor, pageState?: string): Promise<SlotRows> {
    const page = await this.#session.execute(listCql.slot, [region, slot, pushId], {
      ...plain,
      fetchSize: rowsPerRead,
      ...(pageState === undefined ? {} : { pageState }),
    });
    return { region, slot, rows: page.rows, next: page.pageState };
  }

  /** The floor of every region, and that of the own one, which is created if there is none. */
  async #floors(put: StatementOptions): Promise<Map<string, number>> {
    const rows = await executeAll(this.#session, listCql.floors, [], plain);
    const floors = new Map(rows.map((row) => [textOf(row["region"]), numberOf(row["slot"])]));
    const own = this.#session.localDc;
    if (!floors.has(own)) {
      const floor = slotOf(msOfStamp(this.#stamps.rising())) - openSlots;
      await this.#session.execute(listCql.raise, [own, floor, floor], put);
      floors.set(own, floor);
    }
    this.#hasFloor = true;
    return floors;
  }
}

interface Cursor {
  readonly region: string;
  readonly slot: number;
  readonly pushId: string;
}

/** The push of a row; null for one that is struck out. */
function stagedIn(row: CqlRow): StagedPush | null {
  const [stamp, dropped] = [numberOrNull(row["stamp"] ?? null), numberOrNull(row["dropped"] ?? null)];
  if (stamp === null || (dropped !== null && dropped >= stamp)) return null;
  return { push_id: textOf(row["push_id"]), staged_at_ms: msOfStamp(stamp) };
}

function newerOf(known: StagedPush | undefined, push: StagedPush): StagedPush {
  return known === undefined || known.staged_at_ms < push.staged_at_ms ? push : known;
}

function slotOf(ms: number): number {
  return Math.floor(ms / stagedSlotMs);
}
