// Receipts in Cassandra: the port's obligations T1–T5 and T9 (T6 to T8 are in receipt-listing.ts), at LOCAL_QUORUM in the region's data centre.
//   B1. An append is one write to one of the batch's shards, and at the same time one small write to its company's listing. This process's first append to a batch also announces the
//       batch, and is not acknowledged before the announcement is durable; so no receipt that anyone holds is in an
//       unknown batch. (If only that first receipt is lost, an empty batch is closed.)
//   B2. A batch is open while its row in `receipt_open` lives. The row is stamped 1 and its deletion 2: once closed it
//       stays closed, no matter which node announces it again and what its clock says.
//   B3. The row over the most receipts closes a batch: its timestamp is their number. It is written before the batch
//       ceases to be open, so a reader that reads the open batches first and then the closed ones misses none.
//   B4. An hour is forgotten once it has no open batch and ended hours ago. A node that stalled that long with an
//       unannounced batch of that hour has lost its lease, so it answers nobody.
//   B5. What is taken back is deleted at a true time, and receipts are stamped earlier than any (W2): the deletion wins, also over
//       an append that arrives later. Nothing is deleted where it took long to read that the batch is open: it may be closed by then.

import { formatTimestamp } from "../../protocol/identifiers.ts";
import { receiptMinute } from "../../protocol/receipt.ts";
import { BoundedMap } from "../../std/bounded-map.ts";
import { Semaphore } from "../../std/semaphore.ts";
import { type CommitOutcome, StoreError } from "../actor-store.ts";
import {
  type ClosedBatch,
  closedAfterMs,
  countReceipts,
  hashesIn,
  type ListedReceipt,
  type NewReceipt,
  packEnvelope,
  packHashes,
  type ReadSignedRows,
  type ReceiptRow,
  type ReceiptStore,
  retractedWithinMs,
  servedAtOf,
  unpackEnvelope,
} from "../receipt-store.ts";
import {
  bucketOf,
  bytesOf,
  createWriteTimestamps,
  numberOf,
  textOf,
  type WriteTimestamps,
} from "./columns.ts";
import {
  countBatch,
  forgetPointers,
  type ListedReceipts,
  listReceipts,
  markListed,
  type Place,
  point,
  readUsage,
  unpoint,
} from "./receipt-listing.ts";
import { signedRowsIn } from "./record-store.ts";
import { type CassandraSession, type CqlRow, executeAll } from "./session.ts";

/** Partitions per batch: 60,000 receipts of 1.5 KB are 3 MB each. Changing the number loses what is stored. */
const shards = 32;
/** Number of shards read at once, and of receipts of each that are read ahead: half a kilobyte each, without envelopes. */
const shardsAtOnce = 8;
const receiptsAhead = 16;
/** Receipts of a page that are read at once. */
const receiptsAtOnce = 32;
/** Batches that are open at once: one for each node and minute that is not closed yet. */
const openMax = 10_000;
/** Cache size for batches that this process has announced; it writes to one a minute. */
const announcedMax = 64;
/** See B4. */
const forgetAfterMs = 2 * 3_600_000;
/** How long the read before a deletion may take at most (B5): half of what is left until the batch is closed. */
const checkedWithinMs = (closedAfterMs - retractedWithinMs) / 2;
/** See B2. */
const stampOf = { open: 1, notOpen: 2 } as const;

const factColumns = "retrieval_id, key_id, nonce, billable, served_at, event, company, hashes";
const cql = {
  append: `INSERT INTO receipt (region, name, shard, retrieval_id, key_id, nonce, billable, served_at, event, company, hashes, envelope)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?`,
  retract: `DELETE FROM receipt USING TIMESTAMP ?
    WHERE region = ? AND name = ? AND shard = ? AND retrieval_id = ?`,
  announce: "INSERT INTO receipt_open (region, hour, name) VALUES (?, ?, ?) USING TIMESTAMP ?",
  announceHour: "INSERT INTO receipt_hour (region, hour) VALUES (?, ?) USING TIMESTAMP ?",
  hours: "SELECT hour FROM receipt_hour WHERE region = ? AND hour <= ?",
  forgetHour: "DELETE FROM receipt_hour USING TIMESTAMP ? WHERE region = ? AND hour = ?",
  open: "SELECT name FROM receipt_open WHERE region = ? AND hour = ? AND name < ? LIMIT ?",
  close: `INSERT INTO receipt_closed (region, hour, name, root, tree_size, closed_at)
    VALUES (?, ?, ?, ?, ?, ?) USING TIMESTAMP ?`,
  unopen: "DELETE FROM receipt_open USING TIMESTAMP ? WHERE region = ? AND hour = ? AND name = ?",
  isOpen: "SELECT name FROM receipt_open WHERE region = ? AND hour = ? AND name = ?",
  closed: "SELECT root, tree_size, closed_at FROM receipt_closed WHERE region = ? AND hour = ? AND name = ?",
  openOfMinute: "SELECT name FROM receipt_open WHERE region = ? AND hour = ? AND name > ? AND name < ?",
  closedOfMinute: "SELECT name FROM receipt_closed WHERE region = ? AND hour = ? AND name > ? AND name < ?",
  shard: `SELECT ${factColumns} FROM receipt
    WHERE region = ? AND name = ? AND shard = ? AND retrieval_id > ? LIMIT ?`,
  one: `SELECT ${factColumns}, envelope FROM receipt
    WHERE region = ? AND name = ? AND shard = ? AND retrieval_id = ?`,
  oneFacts: `SELECT ${factColumns} FROM receipt
    WHERE region = ? AND name = ? AND shard = ? AND retrieval_id = ?`,
  isStored: `SELECT retrieval_id FROM receipt
    WHERE region = ? AND name = ? AND shard = ? AND retrieval_id = ?`,
} as const;

const plain = { idempotent: true } as const;

export interface CassandraReceiptOptions {
  /** Returns Unix milliseconds; the platform's clock by default. */
  readonly now?: () => number;
}

/** The tables of migrations.ts must exist. */
export function openCassandraReceiptStore(
  session: CassandraSession,
  options: CassandraReceiptOptions = {},
): ReceiptStore {
  const now = options.now ?? Date.now;
  const stamps = createWriteTimestamps(now);
  const announce = announcer(session, stamps);
  const listed = listedReceipts(session, { now, stamps });
  return {
    sharesCommits: false,
    append: async (row, after = null) => {
      if (after !== null) await untilApplied(after);
      await Promise.all([
        announce(row.region, row.batch),
        append(session, row, stamps.falling()),
        point(session, row, stamps.falling()),
      ]);
    },
    retract: async (row) => {
      const { region, batch } = row;
      const beganMs = now();
      const { rows } = await session.execute(cql.closed, [region, hourOf(batch), batch], plain);
      if (rows.length > 0 || now() - beganMs > checkedWithinMs) return false;
      await Promise.all([
        session.execute(cql.retract, [stamps.rising(), ...keyOf(row)], plain),
        unpoint(session, row, stamps.rising()),
      ]);
      return true;
    },
    openBatches: (region, beforeMinute, limit) =>
      openBatches(session, { region, beforeMinute, limit }, { now, stamps }),
    readBatch: (region, batch) => readBatch(session, region, batch),
    closeBatch: async (closed, receipts, counts = countReceipts(receipts)) => {
      await markListed(session, receipts, stamps);
      await countBatch(session, closed, counts, { now, stamps });
      await closeBatch(session, closed);
    },
    readClosed: (region, batch) => readClosed(session, region, batch),
    keptBatches: (region, beforeMinute, limit) => keptBatches(session, { region, beforeMinute, limit }),
    forgetReceipts: (region, batch) =>
      forgetReceipts(session, { region, batch, shards, nowMs: now() }, stamps),
    closedBatches: async (region, minute) => {
      const rows = await executeAll(session, cql.closedOfMinute, namesOfMinute(region, minute), plain);
      return rows.map((row) => textOf(row["name"]));
    },
    readReceipt: (region, retrievalId) => readReceipt(session, region, retrievalId),
    listReceipts: (wanted) => listReceipts(session, wanted, listed, listed.readRows),
    listFacts: (wanted) => listReceipts(session, wanted, listed, listed.readFacts),
    readUsage: (wanted) => readUsage(session, wanted, listed),
  };
}

function listedReceipts(
  session: CassandraSession,
  time: { readonly now: () => number; readonly stamps: WriteTimestamps },
): ListedReceipts {
  const at = (region: string, { batch, retrievalId }: Place) => [
    region,
    batch,
    bucketOf(retrievalId, shards),
    retrievalId,
  ];
  const lanes = new Semaphore(receiptsAtOnce);
  const readSignedRows = signedRowsIn(session);
  const whole = (row: CqlRow, region: string, batch: string) =>
    receiptOf(row, factsOf(row, region, batch), readSignedRows);
  const readEach = async <Receipt>(
    text: string,
    receiptOfRow: (row: CqlRow, region: string, batch: string) => Receipt | Promise<Receipt>,
    region: string,
    places: readonly Place[],
  ): Promise<readonly Receipt[]> => {
    const reads = places.map((place) => async () => {
      const { rows } = await session.execute(text, at(region, place), plain);
      return Promise.all(rows.map((row) => receiptOfRow(row, region, place.batch)));
    });
    return (await lanes.all(reads)).flat();
  };
  return {
    ...time,
    firstHour: (region) => firstHour(session, region),
    openBatches: (region) => openBatches(session, { region, beforeMinute: "9999", limit: openMax }, time),
    isOpen: async (region, batch) => {
      const { rows } = await session.execute(cql.isOpen, [region, hourOf(batch), batch], plain);
      return rows.length > 0;
    },
    readRows: (region, places) => readEach(cql.one, whole, region, places),
    readFacts: (region, places) => readEach(cql.oneFacts, factsOf, region, places),
    areStored: async (region, places) => {
      const reads = places.map((place) => async () => {
        const { rows } = await session.execute(cql.isStored, at(region, place), plain);
        return rows.map((row) => textOf(row["retrieval_id"]));
      });
      return new Set((await lanes.all(reads)).flat());
    },
  };
}

/** See T4. */
async function untilApplied(after: Promise<CommitOutcome>): Promise<void> {
  const { status } = await after;
  if (status === "refused") {
    throw new StoreError("not_applied", "The commit that the receipt depends on was refused.");
  }
}

/** Announces each batch once (B1); concurrent callers wait for the same writes. */
function announcer(
  session: CassandraSession,
  stamps: WriteTimestamps,
): (region: string, batch: string) => Promise<void> {
  const announced = new BoundedMap<string, Promise<void>>(announcedMax);
  const write = async (region: string, batch: string): Promise<void> => {
    const hour = hourOf(batch);
    await Promise.all([
      session.execute(cql.announce, [region, hour, batch, stampOf.open], plain),
      session.execute(cql.announceHour, [region, hour, stamps.rising()], plain),
    ]);
  };
  return (region, batch) => {
    const name = `${region} ${batch}`;
    const known = announced.get(name);
    if (known !== undefined) return known;
    const written = write(region, batch);
    announced.set(name, written);
    written.catch(() => announced.delete(name));
    return written;
  };
}

async function append(session: CassandraSession, row: NewReceipt, stamp: number): Promise<void> {
  const facts = [row.key_id, row.nonce, row.billable, row.served_at_ms, row.event, row.company];
  const params = [...keyOf(row), ...facts, packHashes(row), packEnvelope(row), stamp];
  await session.execute(cql.append, params, plain);
}

function keyOf({ region, batch, retrieval_id: id }: ReceiptRow) {
  return [region, batch, bucketOf(id, shards), id] as const;
}

async function openBatches(
  session: CassandraSession,
  wanted: { readonly region: string; readonly beforeMinute: string; readonly limit: number },
  time: { readonly now: () => number; readonly stamps: WriteTimestamps },
): Promise<readonly string[]> {
  const { region, beforeMinute, limit } = wanted;
  const hours = await executeAll(session, cql.hours, [region, hourOf(beforeMinute)], plain);
  const forgettable = hourOf(receiptMinute(formatTimestamp(time.now() - forgetAfterMs)));
  const names: string[] = [];
  for (const row of hours) {
    if (names.length >= limit) break;
    const hour = textOf(row["hour"]);
    const params = [region, hour, beforeMinute, limit - names.length];
    const open = await executeAll(session, cql.open, params, plain);
    for (const each of open) names.push(textOf(each["name"]));
    if (open.length === 0 && hour < forgettable) {
      await session.execute(cql.forgetHour, [time.stamps.rising(), region, hour], plain);
    }
  }
  return names;
}

/** Merges the shards: a page ends where the first of them has to be read on. Ids are ASCII, whose code units equal their bytes. */
async function* readBatch(
  session: CassandraSession,
  region: string,
  batch: string,
): AsyncGenerator<readonly ListedReceipt[]> {
  let open: readonly number[] = Array.from({ length: shards }, (_, shard) => shard);
  const lastOf = new Map<number, string>();
  let rows: readonly ListedReceipt[] = [];
  while (open.length > 0) {
    const kept = Map.groupBy(rows, ({ retrieval_id }) => bucketOf(retrieval_id, shards));
    const short = open.filter((shard) => (kept.get(shard)?.length ?? 0) < receiptsAhead);
    const read = await new Semaphore(shardsAtOnce).all(
      short.map((shard) => () => {
        const params = [region, batch, shard, lastOf.get(shard) ?? "", receiptsAhead];
        return executeAll(session, cql.shard, params, { ...plain, fetchSize: receiptsAhead });
      }),
    );
    const found = read.map((each) => each.map((row) => factsOf(row, region, batch)));
    for (const [at, shard] of short.entries()) {
      const last = found[at]?.at(-1)?.retrieval_id;
      if (last !== undefined) lastOf.set(shard, last);
    }
    const ended = short.filter((_shard, at) => (found[at]?.length ?? 0) < receiptsAhead);
    open = open.filter((shard) => !ended.includes(shard));
    const until = open.reduce<string>((least, shard) => {
      const last = lastOf.get(shard) ?? "";
      return last < least ? last : least;
    }, "~");
    rows = [...rows, ...found.flat()].sort((a, b) => (a.retrieval_id < b.retrieval_id ? -1 : 1));
    const page = rows.filter(({ retrieval_id }) => retrieval_id <= until);
    rows = rows.slice(page.length);
    if (page.length > 0) yield page;
  }
}

/** See B3. Two closings over the same number of receipts are over the same receipts. */
async function closeBatch(session: CassandraSession, closed: ClosedBatch): Promise<void> {
  const { region, batch, root, tree_size, closed_at_ms } = closed;
  const hour = hourOf(batch);
  await session.execute(
    cql.close,
    [region, hour, batch, root, tree_size, closed_at_ms, tree_size + 1],
    plain,
  );
  await session.execute(cql.unopen, [stampOf.notOpen, region, hour, batch], plain);
}

async function readClosed(
  session: CassandraSession,
  region: string,
  batch: string,
): Promise<ClosedBatch | null> {
  const { rows } = await session.execute(cql.closed, [region, hourOf(batch), batch], plain);
  const [row] = rows;
  if (row === undefined) return null;
  return {
    region,
    batch,
    root: textOf(row["root"]),
    tree_size: numberOf(row["tree_size"]),
    closed_at_ms: numberOf(row["closed_at"]),
  };
}

/** Searches the batches of the minute that the id encodes: one per node. */
async function readReceipt(
  session: CassandraSession,
  region: string,
  retrievalId: string,
): Promise<ReceiptRow | null> {
  const servedAtMs = servedAtOf(retrievalId);
  if (servedAtMs === null) return null;
  const minute = receiptMinute(formatTimestamp(servedAtMs));
  const range = namesOfMinute(region, minute);
  const open = await executeAll(session, cql.openOfMinute, range, plain);
  const closed = await executeAll(session, cql.closedOfMinute, range, plain);
  const batches = new Set([...open, ...closed].map((row) => textOf(row["name"])));
  const shard = bucketOf(retrievalId, shards);
  const found = await new Semaphore(shardsAtOnce).all(
    [...batches].map((batch) => async () => {
      const { rows } = await session.execute(cql.one, [region, batch, shard, retrievalId], plain);
      return rows.map((row) => [row, batch] as const);
    }),
  );
  const [one] = found.flat();
  return one === undefined ? null : receiptOf(one[0], factsOf(one[0], region, one[1]), signedRowsIn(session));
}

/** A batch name continues with «-» after the minute; «.» is the next character after it. */
function namesOfMinute(region: string, minute: string): readonly string[] {
  return [region, hourOf(minute), `${minute}-`, `${minute}.`];
}

async function receiptOf(
  row: CqlRow,
  facts: ListedReceipt,
  readSignedRows: ReadSignedRows,
): Promise<ReceiptRow> {
  return { ...facts, envelope: await unpackEnvelope(bytesOf(row["envelope"]), facts, readSignedRows) };
}

function factsOf(row: CqlRow, region: string, batch: string): ListedReceipt {
  return {
    region,
    batch,
    retrieval_id: textOf(row["retrieval_id"]),
    company: textOf(row["company"]),
    key_id: textOf(row["key_id"]),
    nonce: textOf(row["nonce"]),
    billable: row["billable"] === true,
    served_at_ms: numberOf(row["served_at"]),
    event: textOf(row["event"]),
    ...hashesIn(bytesOf(row["hashes"])),
  };
}

// Forgets the receipts of closed batches in Cassandra: obligation T5 of the port.
//   F1. The receipts are deleted by whole partitions, a few tombstones per batch, after what points to them and before their batch is marked: if
//       interrupted, the caller does the same again. The row of the closed batch keeps its root and size; the mark is a
//       separate cell beside them.
//   F2. An hour is revisited until none of its batches is open or unmarked. The starting point is a hint that only moves
//       forward: it is stamped with the hour itself.
//   F3. A receipt is written with a timestamp from before the first node ran (W2 in columns.ts), so the deletion
//       wins over it, and over a copy of it that arrives late.

/** Maximum hours visited in one call: hours without requests are skipped a day or two at a time. */
const hoursMax = 48;
const hourMs = 3_600_000;

const forgettingCql = {
  begin: "SELECT hour FROM receipt_forgotten WHERE region = ?",
  beginAt: "INSERT INTO receipt_forgotten (region, hour) VALUES (?, ?) USING TIMESTAMP ?",
  hours: "SELECT DISTINCT region, hour FROM receipt_closed",
  openHour: "SELECT hour FROM receipt_hour WHERE region = ? LIMIT 1",
  ofHour: "SELECT name, forgotten_at FROM receipt_closed WHERE region = ? AND hour = ? AND name < ?",
  openOfHour: "SELECT name FROM receipt_open WHERE region = ? AND hour = ? LIMIT 1",
  closed: "SELECT root FROM receipt_closed WHERE region = ? AND hour = ? AND name = ?",
  forget: "DELETE FROM receipt USING TIMESTAMP ? WHERE region = ? AND name = ? AND shard = ?",
  mark: `UPDATE receipt_closed USING TIMESTAMP ? SET forgotten_at = ?
    WHERE region = ? AND hour = ? AND name = ?`,
} as const;

/** See {@link ReceiptStore.keptBatches}. */
async function keptBatches(
  session: CassandraSession,
  wanted: { readonly region: string; readonly beforeMinute: string; readonly limit: number },
): Promise<readonly string[]> {
  const { region, beforeMinute, limit } = wanted;
  const begin = await firstHour(session, region);
  if (begin === null) return [];
  const names: string[] = [];
  let hour = begin;
  /** True while nothing is left to do in any hour before this one. */
  let isDone = true;
  for (let hours = 0; hours < hoursMax && hour <= hourOf(beforeMinute); hours += 1) {
    const rows = await executeAll(session, forgettingCql.ofHour, [region, hour, beforeMinute], plain);
    // A batch that is marked but not closed does not exist: its mark came late (F1).
    const kept = rows.filter((row) => row["forgotten_at"] === null).map((row) => textOf(row["name"]));
    names.push(...kept);
    if (names.length >= limit) break;
    const next = hourAfter(hour);
    isDone &&= kept.length === 0 && next <= hourOf(beforeMinute) && !(await hasOpen(session, region, hour));
    if (isDone) await session.execute(forgettingCql.beginAt, [region, next, Number(next)], plain);
    hour = next;
  }
  return names.slice(0, limit);
}

/** See {@link ReceiptStore.forgetReceipts}; a batch is forgotten in one step. */
async function forgetReceipts(
  session: CassandraSession,
  given: { readonly region: string; readonly batch: string; readonly shards: number; readonly nowMs: number },
  stamps: WriteTimestamps,
): Promise<boolean> {
  const { region, batch, shards, nowMs } = given;
  const at = [region, hourOf(batch), batch];
  const { rows } = await session.execute(forgettingCql.closed, at, plain);
  if (typeof rows[0]?.["root"] !== "string") return true;
  for (let shard = 0; shard < shards; shard += 1) {
    await forgetPointers(session, { region, batch, shard }, stamps);
    await session.execute(forgettingCql.forget, [stamps.rising(), region, batch, shard], plain);
  }
  await session.execute(forgettingCql.mark, [stamps.rising(), nowMs, ...at], plain);
  return true;
}

/** The starting hour (F2); null while the region has no batch. */
async function firstHour(session: CassandraSession, region: string): Promise<string | null> {
  const { rows } = await session.execute(forgettingCql.begin, [region], plain);
  if (rows[0] !== undefined) return textOf(rows[0]["hour"]);
  // Happens once in the life of a region. Batches that are open now are closed later.
  const open = await session.execute(forgettingCql.openHour, [region], plain);
  const all = await executeAll(session, forgettingCql.hours, [], plain);
  const closed = all.filter((row) => row["region"] === region);
  const first = [...open.rows, ...closed].map((row) => textOf(row["hour"])).sort()[0];
  if (first === undefined) return null;
  await session.execute(forgettingCql.beginAt, [region, first, Number(first)], plain);
  return first;
}

async function hasOpen(session: CassandraSession, region: string, hour: string): Promise<boolean> {
  const { rows } = await session.execute(forgettingCql.openOfHour, [region, hour], plain);
  return rows.length > 0;
}

/** `YYYYMMDDHH` of a batch or a minute. */
function hourOf(name: string): string {
  return name.slice(0, 10);
}

function hourAfter(hour: string): string {
  const [, year, month, day, at] = /^(\d{4})(\d{2})(\d{2})(\d{2})$/.exec(hour) ?? [];
  const next = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day), Number(at)) + hourMs);
  return next.toISOString().replaceAll(/[-T:]/g, "").slice(0, 10);
}
