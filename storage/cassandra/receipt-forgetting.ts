// Forgets the receipts of closed batches in Cassandra: obligation T5 of the port.
//   F1. The receipts are deleted by whole partitions, a few tombstones per batch, after what points to them and before their batch is marked: if
//       interrupted, the caller does the same again. The row of the closed batch keeps its root and size; the mark is a
//       separate cell beside them.
//   F2. An hour is revisited until none of its batches is open or unmarked. The starting point is a hint that only moves
//       forward: it is stamped with the hour itself.
//   F3. A receipt is written with a timestamp from before the first node ran (W2 in write-timestamps.ts), so the deletion
//       wins over it, and over a copy of it that arrives late.

import { textOf } from "./columns.ts";
import { forgetPointers } from "./receipt-listing.ts";
import { type CassandraSession, executeAll } from "./session.ts";
import type { WriteTimestamps } from "./write-timestamps.ts";

/** Maximum hours visited in one call: hours without requests are skipped a day or two at a time. */
const hoursMax = 48;
const hourMs = 3_600_000;

const cql = {
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

const plain = { idempotent: true } as const;

/** See {@link ReceiptStore.keptBatches}. */
export async function keptBatches(
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
    const rows = await executeAll(session, cql.ofHour, [region, hour, beforeMinute], plain);
    // A batch that is marked but not closed does not exist: its mark came late (F1).
    const kept = rows.filter((row) => row["forgotten_at"] === null).map((row) => textOf(row["name"]));
    names.push(...kept);
    if (names.length >= limit) break;
    const next = hourAfter(hour);
    isDone &&= kept.length === 0 && next <= hourOf(beforeMinute) && !(await hasOpen(session, region, hour));
    if (isDone) await session.execute(cql.beginAt, [region, next, Number(next)], plain);
    hour = next;
  }
  return names.slice(0, limit);
}

/** See {@link ReceiptStore.forgetReceipts}; a batch is forgotten in one step. */
export async function forgetReceipts(
  session: CassandraSession,
  given: { readonly region: string; readonly batch: string; readonly shards: number; readonly nowMs: number },
  stamps: WriteTimestamps,
): Promise<boolean> {
  const { region, batch, shards, nowMs } = given;
  const at = [region, hourOf(batch), batch];
  const { rows } = await session.execute(cql.closed, at, plain);
  if (typeof rows[0]?.["root"] !== "string") return true;
  for (let shard = 0; shard < shards; shard += 1) {
    await forgetPointers(session, { region, batch, shard }, stamps);
    await session.execute(cql.forget, [stamps.rising(), region, batch, shard], plain);
  }
  await session.execute(cql.mark, [stamps.rising(), nowMs, ...at], plain);
  return true;
}

/** The starting hour (F2); null while the region has no batch. */
export async function firstHour(session: CassandraSession, region: string): Promise<string | null> {
  const { rows } = await session.execute(cql.begin, [region], plain);
  if (rows[0] !== undefined) return textOf(rows[0]["hour"]);
  // Happens once in the life of a region. Batches that are open now are closed later.
  const open = await session.execute(cql.openHour, [region], plain);
  const all = await executeAll(session, cql.hours, [], plain);
  const closed = all.filter((row) => row["region"] === region);
  const first = [...open.rows, ...closed].map((row) => textOf(row["hour"])).sort()[0];
  if (first === undefined) return null;
  await session.execute(cql.beginAt, [region, first, Number(first)], plain);
  return first;
}

async function hasOpen(session: CassandraSession, region: string, hour: string): Promise<boolean> {
  const { rows } = await session.execute(cql.openOfHour, [region, hour], plain);
  return rows.length > 0;
}

/** `YYYYMMDDHH` of a batch or a minute. */
export function hourOf(name: string): string {
  return name.slice(0, 10);
}

function hourAfter(hour: string): string {
  const [, year, month, day, at] = /^(\d{4})(\d{2})(\d{2})(\d{2})$/.exec(hour) ?? [];
  const next = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day), Number(at)) + hourMs);
  return next.toISOString().replaceAll(/[-T:]/g, "").slice(0, 10);
}
