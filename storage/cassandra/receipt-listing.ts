// Whose receipts are listed in Cassandra: the port's obligations T6 and T8, at LOCAL_QUORUM.
//   L1. A receipt has a pointer in its company's hour, without an envelope, written at the same time as the receipt; both are
//       durable before the append returns. A pointer without a receipt, whose append failed, points to nothing: it is neither
//       listed nor counted.
//   L2. When a batch is closed, the pointers of all its receipts are written again and marked, and its counts are written,
//       before it ceases to be open. A pointer that is not marked though its batch is closed came late (T3): it is neither
//       listed nor counted. So what is listed of closed batches is what was counted.
//   L3. Pointers are deleted before the receipts of their batch; their stamps are those of receipts, so the deletion wins (W2).

import { receiptFacts } from "../../protocol/receipt.ts";
import { Semaphore } from "../../std/semaphore.ts";
import {
  addUsage,
  type ClosedBatch,
  type ListedReceipt,
  minuteStart,
  pageBounds,
  positionAt,
  type ReceiptPage,
  type ReceiptRow,
  type ReceiptsWanted,
  servedAtOf,
  type UsageCount,
  type UsageWanted,
  usageDay,
} from "../receipt-store.ts";
import { bucketOf, numberOf, textOf, type WriteTimestamps } from "./columns.ts";
import { type CassandraSession, type CqlRow, executeAll, type Statement } from "./session.ts";

/** Partitions of a company's hour: a million receipts are 21 MB each. Changing the number loses what is stored. */
const buckets = 8;
const allBuckets = Array.from({ length: buckets }, (_, bucket) => bucket).join(", ");
/** Hours in which one page looks, and those in which it looks at once where it found nothing. */
const hoursMax = 960;
const hoursAtOnce = 32;
/** Pointers that one page passes over at most, and those that are read at once. */
const passedOverMax = 20_000;
const pointersAtOnce = 500;
const pointersPerWrite = 50;
const markedAtOnce = 500;
const lanesMax = 16;
/** Receipts are not dated later than this after now: clocks differ by less. */
const aheadMs = 3_600_000;
/** A batch may become known this much later than one of the next minute (B4). */
const lateMs = 2 * 3_600_000;
const hourMs = 3_600_000;

const pointerColumns = "retrieval_id, name, key_id, billable, served_at, facts, listed";
const cql = {
  point: `INSERT INTO receipt_of_company (region, company, hour, bucket, retrieval_id, name, key_id, billable, served_at, facts)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?`,
  mark: `INSERT INTO receipt_of_company
    (region, company, hour, bucket, retrieval_id, name, key_id, billable, served_at, facts, listed)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, true) USING TIMESTAMP ?`,
  forget: `DELETE FROM receipt_of_company USING TIMESTAMP ?
    WHERE region = ? AND company = ? AND hour = ? AND bucket = ? AND retrieval_id = ?`,
  ofHour: `SELECT ${pointerColumns} FROM receipt_of_company
    WHERE region = ? AND company = ? AND hour = ? AND bucket IN (${allBuckets}) AND retrieval_id > ? AND retrieval_id <= ?
    PER PARTITION LIMIT ?`,
  marked: `SELECT listed FROM receipt_of_company
    WHERE region = ? AND company = ? AND hour = ? AND bucket = ? AND retrieval_id = ?`,
  whose: "SELECT retrieval_id, company FROM receipt WHERE region = ? AND name = ? AND shard = ?",
} as const;

const plain = { idempotent: true } as const;

export const receiptListingTables: readonly string[] = [
  // Hours are `YYYY-MM-DDTHH`; see L1 and L2.
  `CREATE TABLE IF NOT EXISTS receipt_of_company (
     region text, company text, hour text, bucket smallint, retrieval_id text,
     name text, key_id text, billable boolean, served_at bigint, facts text, listed boolean,
     PRIMARY KEY ((region, company, hour, bucket), retrieval_id))
   WITH compaction = {'class': 'UnifiedCompactionStrategy'}`,
  // The counts of each closed batch (L2), which outlive its receipts.
  `CREATE TABLE IF NOT EXISTS receipt_usage (
     region text, company text, day text, name text, counts text, PRIMARY KEY ((region, company, day), name))
   WITH compaction = {'class': 'UnifiedCompactionStrategy'}`,
];

export interface ListedReceipts {
  readonly now: () => number;
  readonly stamps: WriteTimestamps;
  /** `YYYYMMDDHH` of the first hour of which anything may be kept; null while there was nothing. */
  readonly firstHour: (region: string) => Promise<string | null>;
  readonly openBatches: (region: string) => Promise<readonly string[]>;
  readonly isOpen: (region: string, batch: string) => Promise<boolean>;
  /** Those that there are, in the order of the places. */
  readonly readRows: ReadPlaces<ReceiptRow>;
  readonly readFacts: ReadPlaces<ListedReceipt>;
  /** Which of them there are. */
  readonly areStored: (region: string, places: readonly Place[]) => Promise<ReadonlySet<string>>;
}

type ReadPlaces<Receipt> = (region: string, places: readonly Place[]) => Promise<readonly Receipt[]>;

/** Where a receipt is. */
export interface Place {
  readonly batch: string;
  readonly retrievalId: string;
}

/** Writes the pointer to a receipt that is being appended (L1). */
export async function point(session: CassandraSession, row: ReceiptRow, stamp: number): Promise<void> {
  const params = pointerOf(row);
  if (params !== null) await session.execute(cql.point, [...params, stamp], plain);
}

/** Deletes the pointer to a receipt that is taken back. */
export async function unpoint(session: CassandraSession, row: ReceiptRow, stamp: number): Promise<void> {
  const params = pointerOf(row);
  if (params !== null) await session.execute(cql.forget, [stamp, ...params.slice(0, 5)], plain);
}

/** Writes the pointers to all receipts of a batch that is being closed, and marks them (L2). */
export async function markListed(
  session: CassandraSession,
  receipts: readonly ListedReceipt[],
  stamps: WriteTimestamps,
): Promise<void> {
  for (let from = 0; from < receipts.length; from += markedAtOnce) {
    const marks = receipts.slice(from, from + markedAtOnce).flatMap((row) => {
      const params = pointerOf(row);
      return params === null ? [] : [{ cql: cql.mark, params: [...params, stamps.falling()] }];
    });
    await inPartitions(session, marks);
  }
}

/** Deletes the pointers to the receipts of a batch's shard (L3). */
export async function forgetPointers(
  session: CassandraSession,
  { region, batch, shard }: { readonly region: string; readonly batch: string; readonly shard: number },
  stamps: WriteTimestamps,
): Promise<void> {
  const rows = await executeAll(session, cql.whose, [region, batch, shard], plain);
  const deletions = rows.map((row) => {
    const id = textOf(row["retrieval_id"]);
    const at = [region, textOf(row["company"]), hourName(servedAtOf(id) ?? 0), bucketOf(id, buckets), id];
    return { cql: cql.forget, params: [stamps.rising(), ...at] };
  });
  await inPartitions(session, deletions, 1);
}

/** Sends statements in batches, each for one partition; the partition's key starts at `from` in the parameters. */
async function inPartitions(session: CassandraSession, all: readonly Statement[], from = 0): Promise<void> {
  const groups = Map.groupBy(all, ({ params }) => params.slice(from, from + 4).join(" "));
  const parts = [...groups.values()].flatMap((of) =>
    Array.from({ length: Math.ceil(of.length / pointersPerWrite) }, (_, index) =>
      of.slice(index * pointersPerWrite, (index + 1) * pointersPerWrite),
    ),
  );
  await new Semaphore(lanesMax).all(parts.map((part) => () => session.batch(part, plain)));
}

function pointerOf(row: ListedReceipt) {
  const { region, company, retrieval_id: id, batch, key_id, billable, served_at_ms } = row;
  const servedAtMs = servedAtOf(id);
  if (servedAtMs === null) return null;
  const { kind, collection, country, rows } = receiptFacts(row);
  const key = [region, company, hourName(servedAtMs), bucketOf(id, buckets), id];
  return [...key, batch, key_id, billable, served_at_ms, JSON.stringify([kind, collection, country, rows])];
}

export interface Pointer extends Place {
  readonly keyId: string;
  readonly isMarked: boolean;
  readonly count: UsageCount;
}

/** See {@link ReceiptStore.listReceipts} and {@link ReceiptStore.listFacts}, by what `read` reads. */
export async function listReceipts<Receipt>(
  session: CassandraSession,
  wanted: ReceiptsWanted,
  receipts: ListedReceipts,
  read: ReadPlaces<Receipt>,
): Promise<ReceiptPage<Receipt>> {
  const { region, company, keyId, limit } = wanted;
  const first = await receipts.firstHour(region);
  if (first === null) return { receipts: [], next: null };
  const fromMs = Math.max(wanted.fromMs, minuteStart(`${first}00`) - lateMs);
  const toMs = Math.min(wanted.toMs, receipts.now() + aheadMs);
  const isListed = listedOf(session, wanted, receipts);
  const found: Receipt[] = [];
  let [low, high] = pageBounds({ ...wanted, fromMs, toMs });
  let [passed, looked, atOnce] = [0, 0, 1];
  let hour = startOfHour(servedAtOf(low) ?? 0);
  while (hour < toMs && looked < hoursMax && passed < passedOverMax) {
    const hours = hoursFrom(hour, Math.min(toMs, hour + atOnce * hourMs));
    const ofHours = await Promise.all(
      hours.map((each) => ofHour(session, { region, company, hour: each, low, high, limit: pointersAtOnce })),
    );
    looked += hours.length;
    const index = ofHours.findIndex((of) => of.length > 0);
    atOnce = index < 0 ? Math.min(2 * atOnce, hoursAtOnce) : 1;
    hour = hours[index < 0 ? hours.length - 1 : index] ?? hour;
    const pointers = ofHours[index] ?? [];
    passed += pointers.length;
    const kept = await chosen(pointers, keyId, isListed);
    const room = limit - found.length;
    const page = kept.slice(0, room);
    found.push(...(await read(region, page)));
    if (kept.length >= room) return { receipts: found, next: page.at(-1)?.retrievalId ?? low };
    low = pointers.at(-1)?.retrievalId ?? low;
    if (pointers.length < pointersAtOnce) hour += hourMs;
  }
  const next = hour < toMs ? [low, positionAt(hour)].sort().at(-1) : null;
  return { receipts: found, next: next ?? null };
}

async function chosen(
  pointers: readonly Pointer[],
  keyId: string | null,
  isListed: (pointer: Pointer) => Promise<boolean>,
): Promise<readonly Pointer[]> {
  const kept: Pointer[] = [];
  for (const pointer of pointers)
    if ((keyId === null || pointer.keyId === keyId) && (await isListed(pointer))) kept.push(pointer);
  return kept;
}

/** See L2: a pointer of a batch that is not open is read again, because it may have been marked since it was read. */
function listedOf(
  session: CassandraSession,
  { region, company }: ReceiptsWanted,
  { isOpen }: ListedReceipts,
): (pointer: Pointer) => Promise<boolean> {
  const open = new Set<string>();
  return async ({ batch, retrievalId: id, isMarked }) => {
    if (isMarked || open.has(batch)) return true;
    if (await isOpen(region, batch)) {
      open.add(batch);
      return true;
    }
    const at = [region, company, hourName(servedAtOf(id) ?? 0), bucketOf(id, buckets), id];
    const { rows } = await session.execute(cql.marked, at, plain);
    return rows[0]?.["listed"] === true;
  };
}

export interface HourWanted {
  readonly region: string;
  readonly company: string;
  /** Unix milliseconds of its beginning. */
  readonly hour: number;
  readonly low: string;
  readonly high: string;
  readonly limit: number;
}

/** The first pointers of a company's hour, in order, from all of its buckets. */
async function ofHour(session: CassandraSession, wanted: HourWanted): Promise<readonly Pointer[]> {
  const { region, company, hour, low, high, limit } = wanted;
  const params = [region, company, hourName(hour), low, high, limit];
  const rows = await executeAll(session, cql.ofHour, params, plain);
  const pointers = rows.filter((row) => typeof row["name"] === "string").map(pointerOfRow);
  return pointers.sort((a, b) => (a.retrievalId < b.retrievalId ? -1 : 1)).slice(0, limit);
}

function pointerOfRow(row: CqlRow): Pointer {
  const [kind, collection, country, rows] = JSON.parse(textOf(row["facts"])) as [
    UsageCount["kind"],
    string | null,
    string | null,
    number,
  ];
  const keyId = textOf(row["key_id"]);
  const billable = row["billable"] === true ? 1 : 0;
  const day = usageDay(numberOf(row["served_at"]));
  return {
    batch: textOf(row["name"]),
    retrievalId: textOf(row["retrieval_id"]),
    keyId,
    isMarked: row["listed"] === true,
    count: { day, key_id: keyId, kind, collection, country, requests: 1, billable, rows },
  };
}

function hourName(ms: number): string {
  return new Date(ms).toISOString().slice(0, 13);
}

function startOfHour(ms: number): number {
  return Math.floor(ms / hourMs) * hourMs;
}

function hoursFrom(fromMs: number, toMs: number): readonly number[] {
  return Array.from({ length: Math.ceil((toMs - fromMs) / hourMs) }, (_, index) => fromMs + index * hourMs);
}

// What companies used, in Cassandra: the port's obligation T7, at LOCAL_QUORUM.
//   U1. Of a batch that was open when a reader began, its pointers are counted, as far as they point to receipts; of every other
//       one, the counts that were written before it was closed. The counts over the most receipts stay.
//   U2. The first reader of a day that is long over, and has no open batch, writes its sum beside the counts of its batches, for
//       later readers. Closing a batch of such a day removes the sum.

/** A company's days whose counts are read at once. */
const daysAtOnce = 16;
const dayMs = 86_400_000;
/** The name of a day's sum (U2); no batch has it. */
const sumName = "sum";
/** Batches of a day that are read without a sum. */
const worthSumming = 20;
/** A sum that is written at the same time as it is removed, by a node with another clock, is removed; in microseconds. */
const removalAhead = 5_000_000;

const usageCql = {
  count:
    "INSERT INTO receipt_usage (region, company, day, name, counts) VALUES (?, ?, ?, ?, ?) USING TIMESTAMP ?",
  removeSum:
    "DELETE FROM receipt_usage USING TIMESTAMP ? WHERE region = ? AND company = ? AND day = ? AND name = ?",
  one: "SELECT counts FROM receipt_usage WHERE region = ? AND company = ? AND day = ? AND name = ?",
  counts: "SELECT name, counts FROM receipt_usage WHERE region = ? AND company = ? AND day = ?",
} as const;

/** Writes the counts of a batch that is being closed (U1). */
export async function countBatch(
  session: CassandraSession,
  { region, batch, tree_size }: ClosedBatch,
  counted: ReadonlyMap<string, readonly UsageCount[]>,
  { now, stamps }: { readonly now: () => number; readonly stamps: WriteTimestamps },
): Promise<void> {
  const write = async (company: string, day: string, counts: readonly UsageCount[]): Promise<void> => {
    const of = [region, company, day];
    await session.execute(usageCql.count, [...of, batch, JSON.stringify(counts), tree_size + 1], plain);
    if (now() < Date.parse(day) + dayMs) return;
    await session.execute(usageCql.removeSum, [stamps.rising() + removalAhead, ...of, sumName], plain);
  };
  await new Semaphore(lanesMax).all(
    [...counted].flatMap(([company, counts]) =>
      [...Map.groupBy(counts, ({ day }) => day)].map(
        ([day, of]) =>
          () =>
            write(company, day, of),
      ),
    ),
  );
}

/** See {@link ReceiptStore.readUsage}. */
export async function readUsage(
  session: CassandraSession,
  { region, company, fromDay, toDay }: UsageWanted,
  receipts: ListedReceipts,
): Promise<readonly UsageCount[]> {
  const open = new Set(await receipts.openBatches(region));
  const days = daysBetween(fromDay, toDay);
  const counted = await new Semaphore(daysAtOnce).all(
    days.map((day) => () => countsOfDay(session, { region, company, day, open }, receipts)),
  );
  const ofOpen = [...open].filter((batch) => days.includes(usageDay(minuteStart(batch))));
  const pending = await countOpen(session, { region, company, open: ofOpen }, receipts);
  return addUsage([...counted.flat(), ...pending]);
}

/** The counts of pointers to batches that were open, as far as they point to receipts (U1). */
async function countOpen(
  session: CassandraSession,
  {
    region,
    company,
    open,
  }: { readonly region: string; readonly company: string; readonly open: readonly string[] },
  receipts: ListedReceipts,
): Promise<readonly UsageCount[]> {
  const counts: UsageCount[] = [];
  for (const [minute, batches] of Map.groupBy(open, (batch) => minuteStart(batch))) {
    const high = positionAt(minute + 60_000);
    let low = positionAt(minute);
    for (let isOver = false; !isOver; ) {
      const hour = startOfHour(minute);
      const pointers = await ofHour(session, { region, company, hour, low, high, limit: pointersAtOnce });
      const of = pointers.filter(({ batch }) => batches.includes(batch));
      const there = await receipts.areStored(region, of);
      counts.push(...of.filter(({ retrievalId }) => there.has(retrievalId)).map(({ count }) => count));
      low = pointers.at(-1)?.retrievalId ?? low;
      isOver = pointers.length < pointersAtOnce;
    }
  }
  return counts;
}

interface DayWanted {
  readonly region: string;
  readonly company: string;
  readonly day: string;
  /** Batches that are not closed. */
  readonly open: ReadonlySet<string>;
}

/** The counts of a day's closed batches. */
async function countsOfDay(
  session: CassandraSession,
  { region, company, day, open }: DayWanted,
  { now, stamps }: ListedReceipts,
): Promise<readonly UsageCount[]> {
  const of = [region, company, day];
  const isOpen = [...open].some((batch) => usageDay(minuteStart(batch)) === day);
  const isOver = !isOpen && now() >= Date.parse(day) + dayMs + lateMs;
  const { rows: sums } = isOver ? await session.execute(usageCql.one, [...of, sumName], plain) : { rows: [] };
  if (sums[0] !== undefined) return countsIn(textOf(sums[0]["counts"]));
  // Before anything is read: what is written meanwhile removes the sum.
  const stamp = stamps.rising();
  const rows = await executeAll(session, usageCql.counts, of, plain);
  const closed = rows.filter((row) => row["name"] !== sumName && !open.has(textOf(row["name"])));
  const sum = addUsage(closed.flatMap((row) => countsIn(textOf(row["counts"]))));
  // Of a few batches it is read as fast without.
  if (isOver && closed.length > worthSumming)
    await session.execute(usageCql.count, [...of, sumName, JSON.stringify(sum), stamp], plain);
  return sum;
}

function countsIn(text: string): readonly UsageCount[] {
  return JSON.parse(text) as readonly UsageCount[];
}

function daysBetween(fromDay: string, toDay: string): readonly string[] {
  const count = (Date.parse(toDay) - Date.parse(fromDay)) / dayMs + 1;
  return Array.from({ length: count }, (_, index) => usageDay(Date.parse(fromDay) + index * dayMs));
}
