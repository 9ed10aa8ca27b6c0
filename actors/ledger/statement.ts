// What a ledger writes down for its statements: what was charged on each day, the sums of each month, and the entries.

import type { PartitionRow, RowSelection } from "../../storage/actor-store.ts";
import type {
  EnteredEntry,
  LedgerCharge,
  LedgerEntry,
  MonthStatement,
  StatementLine,
} from "../messages/ledger.ts";
import type { ActorView } from "../system/definition.ts";
import { defineJsonTable, defineTable, type RowTable } from "../system/row-table.ts";

/** Until when after its end something can be booked into a month. */
const monthOpenMs = 2 * 86_400_000;
/** Maximum number of entries in one answer. */
const entriesPageMax = 200;

interface MonthSums {
  readonly charged: number;
  readonly entered: number;
  /** Number of entries. */
  readonly entries: number;
}

/** What is charged of one day, and booked into one month. */
type DayLine = Omit<StatementLine, "day" | "amount">;

export const tables = {
  /** By key and nonce. */
  nonces: emptyTable("charged nonces", 16),
  /** The same by the instant at which each was served, so that the oldest are found first. */
  noncesByTime: emptyTable("charged nonces by time", 21),
  /** By `YYYY-MM/YYYY-MM-DD`: the month into which it is booked, and the day on which it was served. */
  days: defineJsonTable<readonly DayLine[]>("charges of a day", 17),
  /** By `YYYY-MM`. */
  months: defineJsonTable<MonthSums>("sums of a month", 18),
  /** By `YYYY-MM/<15 digits of Unix milliseconds>/<entry_id>`. */
  entries: defineJsonTable<EnteredEntry>("entries", 19),
  entryIds: defineJsonTable<LedgerEntry>("ids of entries", 20),
};

type View = Pick<ActorView, "row" | "rowsOf" | "nowMs">;

/** A table whose keys say everything. */
function emptyTable(name: string, rt: number): RowTable<string> {
  return defineTable<string>({ name, rt, encode: (text) => text, decode: (text) => text });
}

/** `YYYY-MM` of an instant, UTC. */
export function monthOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 7);
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** The first instant after the month. */
function endOfMonth(month: string): number {
  const [year = 0, number = 0] = month.split("-").map(Number);
  return Date.UTC(year, number, 1);
}

function isFinal(month: string, nowMs: number): boolean {
  return nowMs >= endOfMonth(month) + monthOpenMs;
}

/** The month into which an answer is booked: that in which it was served, unless that month is final. */
function bookingMonth(servedMs: number, bookedMs: number): string {
  const own = monthOf(servedMs);
  return isFinal(own, bookedMs) ? monthOf(bookedMs) : own;
}

function dayKey(servedMs: number, bookedMs: number): string {
  return `${bookingMonth(servedMs, bookedMs)}/${dayOf(servedMs)}`;
}

/** The keys of the days into which these charges are booked. */
export function daysOf({ charges, at_ms }: Charges): readonly string[] {
  return [...new Set(charges.map(({ served_at_ms }) => dayKey(served_at_ms, at_ms)))];
}

/** Whether these charges belong to other months now than when they were collected, whose days were read. */
export function areLate({ charges, at_ms }: Charges, nowMs: number): boolean {
  return charges.some(({ served_at_ms }) => dayKey(served_at_ms, at_ms) !== dayKey(served_at_ms, nowMs));
}

export interface Charges {
  readonly charges: readonly LedgerCharge[];
  /** When they were collected. */
  readonly at_ms: number;
}

/** The rows with these charges added, and the sum of them. */
export function noteCharges(
  { charges, at_ms }: Charges,
  view: View,
): { readonly amount: number; readonly puts: readonly PartitionRow[] } {
  const days = new Map<string, DayLine[]>();
  const months = new Map<string, number>();
  let amount = 0;
  for (const { kind, collection, price, served_at_ms } of charges) {
    const key = dayKey(served_at_ms, at_ms);
    const lines = days.get(key) ?? (tables.days.read(view, key) ?? []).map((line) => ({ ...line }));
    days.set(key, addTo(lines, { kind, collection, price, count: 1 }));
    const month = key.slice(0, 7);
    months.set(month, (months.get(month) ?? 0) + price);
    amount += price;
  }
  return {
    amount,
    puts: [
      ...[...days].map(([key, lines]) => tables.days.write(key, lines)),
      ...[...months].map(([month, charged]) => {
        const sums = tables.months.read(view, month) ?? noSums;
        return tables.months.write(month, { ...sums, charged: sums.charged + charged });
      }),
    ],
  };
}

export const noSums: MonthSums = { charged: 0, entered: 0, entries: 0 };

function addTo(lines: DayLine[], more: DayLine): DayLine[] {
  const at = lines.findIndex(
    ({ kind, collection, price }) =>
      kind === more.kind && collection === more.collection && price === more.price,
  );
  const known = lines[at];
  if (known === undefined) lines.push(more);
  else lines[at] = { ...known, count: known.count + more.count };
  return lines;
}

/** The key of an entry: entries of a month are in the order of their time. */
export function entryKey(atMs: number, entryId: string): string {
  return `${monthOf(atMs)}/${String(atMs).padStart(15, "0")}/${entryId}`;
}

/** The rows that a statement is made of. A month has its own days of charges, and late ones of regions that were down. */
export function statementRows(asked: {
  readonly month: string;
  readonly after: string | null;
}): readonly RowSelection[] {
  const { month, after } = asked;
  // «/» is followed by nothing that sorts before it: these are the keys that begin with the month.
  const from = { k: 0, k2: `${month}/` };
  return [
    tables.months.selectPage(monthsMax),
    tables.days.selectPage(daysMax, from),
    tables.entries.selectPage(entriesPageMax + 1, after === null ? from : { k: 0, k2: after }),
  ];
}

/** A hundred years. */
export const monthsMax = 1_200;
/** A month, and the 400 days for which receipts are usually kept: so late may a region that was down be charged. */
const daysMax = 31 + 400;

export function statementOf(
  { currency, month }: { readonly currency: string; readonly month: string },
  view: View,
): MonthStatement {
  const { charged, entered } = tables.months.read(view, month) ?? noSums;
  const earlier = tables.months.readAll(view).filter(({ k2 }) => k2 < month);
  const opening = earlier.reduce((sum, { value }) => sum + value.entered - value.charged, 0);
  const isOwn = ({ k2 }: { readonly k2: string }): boolean => k2.startsWith(`${month}/`);
  const entries = tables.entries.readAll(view).filter(isOwn);
  const page = entries.slice(0, entriesPageMax);
  return {
    ...{ currency, month, opening, charged, entered },
    closing: opening + entered - charged,
    is_final: isFinal(month, view.nowMs),
    lines: tables.days
      .readAll(view)
      .filter(isOwn)
      .flatMap(({ k2, value }) =>
        value.map((line) => ({ day: k2.slice(8), ...line, amount: line.count * line.price })),
      ),
    entries: page.map(({ value }) => value),
    next_after: entries.length > entriesPageMax ? (page.at(-1)?.k2 ?? null) : null,
  };
}
