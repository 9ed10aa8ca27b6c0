// What companies used, in Cassandra: the port's obligation T7, at LOCAL_QUORUM. receipt-listing.ts says what is listed.
//   U1. Of a batch that was open when a reader began, its pointers are counted, as far as they point to receipts; of every other
//       one, the counts that were written before it was closed. The counts over the most receipts stay.
//   U2. The first reader of a day that is long over, and has no open batch, writes its sum beside the counts of its batches, for
//       later readers. Closing a batch of such a day removes the sum.

import { Semaphore } from "../../std/semaphore.ts";
import { type ClosedBatch, minuteStart, positionAt, type UsageWanted } from "../receipt-store.ts";
import { addUsage, type UsageCount, usageDay } from "../receipt-usage.ts";
import { textOf } from "./columns.ts";
import { type ListedReceipts, lateMs, ofHour, pointersAtOnce, startOfHour } from "./receipt-listing.ts";
import { type CassandraSession, executeAll } from "./session.ts";
import type { WriteTimestamps } from "./write-timestamps.ts";

const lanesMax = 16;
/** A company's days whose counts are read at once. */
const daysAtOnce = 16;
const dayMs = 86_400_000;
/** The name of a day's sum (U2); no batch has it. */
const sumName = "sum";
/** Batches of a day that are read without a sum. */
const worthSumming = 20;
/** A sum that is written at the same time as it is removed, by a node with another clock, is removed; in microseconds. */
const removalAhead = 5_000_000;

const cql = {
  count:
    "INSERT INTO receipt_usage (region, company, day, name, counts) VALUES (?, ?, ?, ?, ?) USING TIMESTAMP ?",
  removeSum:
    "DELETE FROM receipt_usage USING TIMESTAMP ? WHERE region = ? AND company = ? AND day = ? AND name = ?",
  one: "SELECT counts FROM receipt_usage WHERE region = ? AND company = ? AND day = ? AND name = ?",
  counts: "SELECT name, counts FROM receipt_usage WHERE region = ? AND company = ? AND day = ?",
} as const;

const plain = { idempotent: true } as const;

/** Writes the counts of a batch that is being closed (U1). */
export async function countBatch(
  session: CassandraSession,
  { region, batch, tree_size }: ClosedBatch,
  counted: ReadonlyMap<string, readonly UsageCount[]>,
  { now, stamps }: { readonly now: () => number; readonly stamps: WriteTimestamps },
): Promise<void> {
  const write = async (company: string, day: string, counts: readonly UsageCount[]): Promise<void> => {
    const of = [region, company, day];
    await session.execute(cql.count, [...of, batch, JSON.stringify(counts), tree_size + 1], plain);
    if (now() < Date.parse(day) + dayMs) return;
    await session.execute(cql.removeSum, [stamps.rising() + removalAhead, ...of, sumName], plain);
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
  const { rows: sums } = isOver ? await session.execute(cql.one, [...of, sumName], plain) : { rows: [] };
  if (sums[0] !== undefined) return countsIn(textOf(sums[0]["counts"]));
  // Before anything is read: what is written meanwhile removes the sum.
  const stamp = stamps.rising();
  const rows = await executeAll(session, cql.counts, of, plain);
  const closed = rows.filter((row) => row["name"] !== sumName && !open.has(textOf(row["name"])));
  const sum = addUsage(closed.flatMap((row) => countsIn(textOf(row["counts"]))));
  // Of a few batches it is read as fast without.
  if (isOver && closed.length > worthSumming)
    await session.execute(cql.count, [...of, sumName, JSON.stringify(sum), stamp], plain);
  return sum;
}

function countsIn(text: string): readonly UsageCount[] {
  return JSON.parse(text) as readonly UsageCount[];
}

function daysBetween(fromDay: string, toDay: string): readonly string[] {
  const count = (Date.parse(toDay) - Date.parse(fromDay)) / dayMs + 1;
  return Array.from({ length: count }, (_, index) => usageDay(Date.parse(fromDay) + index * dayMs));
}
