// The ledger actor: the prepaid money of one AI company. Keyed rows: 16 charged nonces, 17 days, 18 months, 19 entries, 20 the
// ids of entries, 21 charged nonces by time.
//   LD1. An answer is charged once by its place in its region's receipts, and once by (key_id, nonce) where several regions
//        may have answered the same signed request (specification, «Billing»). A nonce is remembered until no region can report
//        another answer to it any more, however long a region is away.
//   LD2. An entry is made once under its id; the same id with another content is refused.
//   LD3. What is charged belongs to the month in which it was served, until two days after it; what comes later belongs to the
//        month in which it is booked. A statement that is final never changes: a page that was collected before and comes after
//        that is collected once more.
//   LD4. A lease never exceeds what is available, and is at most a quarter of it unless that is less than one answer costs: one
//        node must not hold what the others need.

import {
  availableOf,
  type LedgerContext,
  type LedgerEvent,
  type LedgerHolder,
  ledgerMachine,
  type NextPage,
  nothingComesBefore,
  outlookOf,
  reservedFor,
} from "../../machines/ledger.ts";
import type { PartitionRow, RowKey, RowSelection } from "../../storage/actor-store.ts";
import { positionAt } from "../../storage/receipt-store.ts";
import type {
  EnteredEntry,
  EnterReply,
  LeaseReply,
  LedgerCharge,
  LedgerEntry,
  LedgerProtocol,
  LedgerReport,
  LedgerShown,
  MonthStatement,
  StatementLine,
} from "../messages/ledger.ts";
import type { CommandOf, Commands, DoneReply } from "../messages/protocol.ts";
import { type ActorView, type Decision, defineActor, type ViewOf } from "../system/definition.ts";
import { defineJsonTable, defineTable, type RowTable } from "../system/row-table.ts";

/** How long a holder may spend what it was lent. */
const leaseMs = 60_000;
/** By how much the clocks of two nodes may differ, and how long an answer may take that was begun under a lease. */
const clockSpareMs = 60_000;
/** Maximum number of holders: runs of nodes that serve one company, with those that ended within the last minutes. */
const holdersMax = 128;
/** What an account may hold, and owe: beyond that, sums would not be exact. */
export const balanceMax = 1_000_000_000_000_000;
/** Maximum number of entries in a month: a statement shows all of them. */
export const monthEntriesMax = 5_000;
/** Number of nonces that are forgotten with a page: more than a page adds. */
const noncesForgottenMax = 300;

type View = ViewOf<typeof ledgerMachine>;
type Asked<T extends keyof LedgerProtocol> = CommandOf<LedgerProtocol, T>;
type Decided<R> = Decision<R, LedgerEvent>;

export const ledgerActor = defineActor<"ledger", typeof ledgerMachine>({
  kind: "ledger",
  schemaVersion: 1,
  machine: ledgerMachine,
  durability: "journal",
  input: () => ({}),
  rows: rowsFor,
  decide: {
    "money.enter": enter,
    "slice.lease": lease,
    "charges.collected": book,
    "ledger.read": (_command, view) => ({ reply: shownOf(view) }),
    "ledger.statement": ({ month }, view) => {
      const { currency } = view.snapshot.context;
      return { reply: currency === null ? null : statementOf({ currency, month }, view) };
    },
  },
  // A company without an account has nothing to spend, and asking makes none.
  absent: {
    "ledger.read": { reply: null },
    "ledger.statement": { reply: null },
    "slice.lease": { reply: { status: "exhausted" } },
  },
  effects: {
    collect: ({ pages }: { pages: readonly NextPage[] }, { id: company }: View) =>
      pages.map((page) => ({ kind: "activity", name: "collectCharges", params: { ...page, company } })),
  },
});

function rowsFor(
  command: Commands<LedgerProtocol>,
  _id: string,
  { context }: View["snapshot"],
): readonly RowSelection[] {
  switch (command.type) {
    case "money.enter":
      return [tables.entryIds.select([command.entry_id]), tables.months.selectPage(monthsMax)];
    case "charges.collected":
      return [
        tables.days.select(daysOf(command)),
        tables.months.selectPage(monthsMax),
        ...(command.shared
          ? [
              tables.nonces.select(command.charges.map(nonceKey)),
              tables.noncesByTime.selectPage(noncesForgottenMax, { k: context.nonces_from, k2: "" }),
            ]
          : []),
      ];
    case "ledger.statement":
      return statementRows(command);
    case "slice.lease":
    case "ledger.read":
      return [];
  }
}

function enter(command: Asked<"money.enter">, view: View): Decided<EnterReply> {
  const { type: _type, ...entry } = command;
  const { context } = view.snapshot;
  const known = tables.entryIds.read(view, entry.entry_id);
  if (known !== undefined) {
    const report = reportOf(context);
    return {
      reply: report !== null && isSame(known, entry) ? { status: "entered", report } : { status: "conflict" },
    };
  }
  if (context.currency !== null && context.currency !== entry.currency)
    return { reply: { status: "currency_mismatch", currency: context.currency } };
  const balance = context.balance + entry.amount;
  if (Math.abs(balance) > balanceMax) return { reply: { status: "too_large" } };
  const { currency } = entry;
  const entered: EnteredEntry = { ...entry, at_ms: view.nowMs };
  const month = monthOf(view.nowMs);
  const sums = tables.months.read(view, month) ?? noSums;
  if (sums.entries >= monthEntriesMax) return { reply: { status: "too_many" } };
  return {
    reply: { status: "entered", report: { ...emptyReport, ...reportOf({ ...context, currency, balance }) } },
    events: [{ type: "money.entered", ...entered }],
    puts: [
      tables.entryIds.write(entry.entry_id, entry),
      tables.entries.write(entryKey(view.nowMs, entry.entry_id), entered),
      tables.months.write(month, {
        ...sums,
        entered: sums.entered + entry.amount,
        entries: sums.entries + 1,
      }),
    ],
  };
}

/** An entry may be sent again by anyone. Of two payments with one id, the second must not be taken for the first. */
function isSame(known: LedgerEntry, entry: LedgerEntry): boolean {
  const parts = ["kind", "amount", "currency", "reason"] as const;
  return parts.every((each) => known[each] === entry[each]);
}

function lease(command: Asked<"slice.lease">, view: View): Decided<LeaseReply> {
  const { holder, n, wanted, price } = command;
  const { context } = view.snapshot;
  const known: LedgerHolder | undefined = context.holders[holder];
  if (known?.n === n) return { reply: leaseReply(known.given, wanted) };
  if (known === undefined ? Object.keys(context.holders).length >= holdersMax : n < known.n)
    return { reply: { status: "refused" } };
  const returned = Math.min(Math.max(0, command.returned), known === undefined ? 0 : reservedFor(known));
  const amount = lendable(availableOf(context) + returned, wanted, price);
  const reply = leaseReply(amount, wanted);
  if (amount === 0 && returned === 0) return { reply };
  const until_ms = amount === 0 ? 0 : view.nowMs + leaseMs + clockSpareMs;
  // Nobody can have served anything under a first lease before it, except by a clock that is behind.
  const from = positionAt(view.nowMs - clockSpareMs);
  return { reply, events: [{ type: "slice.leased", holder, n, amount, returned, until_ms, from }] };
}

/** See LD4. */
function lendable(available: number, wanted: number, price: number): number {
  if (wanted === 0 || available < price) return 0;
  return Math.min(Math.max(wanted, price), Math.max(price, Math.floor(available / 4)));
}

function leaseReply(amount: number, wanted: number): LeaseReply {
  return amount === 0 && wanted > 0
    ? { status: "exhausted" }
    : { status: "leased", amount, lease_ms: leaseMs };
}

function book(command: Asked<"charges.collected">, view: View): Decided<DoneReply> {
  const { region, up_to, more, shared } = command;
  const { context } = view.snapshot;
  const known = context.regions[region] ?? { up_to: "", settled_ms: 0 };
  const reply: DoneReply = { status: "done" };
  // LE3: this page was booked before, and the region goes on from there.
  if (known.up_to !== command.after || !context.collecting.includes(region)) return { reply };
  if (areLate(command, view.nowMs)) {
    const again = { region, up_to: command.after, settled_ms: known.settled_ms, more: true };
    const none = { used: {}, count: 0, amount: 0, at_ms: view.nowMs };
    return { reply, events: [{ type: "charges.booked", ...again, ...none }] };
  }
  const used: Record<string, number> = {};
  const nonces = new Map<string, number>();
  const charged: LedgerCharge[] = [];
  for (const charge of command.charges) {
    used[charge.holder] = (used[charge.holder] ?? 0) + charge.price;
    const nonce = nonceKey(charge);
    if (shared && (nonces.has(nonce) || tables.nonces.read(view, nonce) !== undefined)) continue;
    nonces.set(nonce, charge.served_at_ms);
    charged.push(charge);
  }
  const noted = noteCharges({ charges: charged, at_ms: command.at_ms }, view);
  const forgotten = shared ? forgetNonces(view) : noneForgotten;
  const booked: LedgerEvent = {
    type: "charges.booked",
    region,
    up_to,
    more,
    used,
    count: charged.length,
    amount: noted.amount,
    at_ms: view.nowMs,
    settled_ms: more ? known.settled_ms : command.settled_ms,
    ...forgotten.event,
  };
  const nonceRows = [...(shared ? nonces : [])].flatMap(([nonce, servedAtMs]) => [
    tables.nonces.write(nonce, ""),
    tables.noncesByTime.write(nonce, "", { k: servedAtMs }),
  ]);
  return { reply, events: [booked], puts: [...noted.puts, ...nonceRows], deletes: forgotten.deletes };
}

const noneForgotten = { event: {}, deletes: [] } as const;

/** Of the nonces that nobody can report again, the oldest: as far as earlier bookings settled it. */
function forgetNonces(view: View): {
  readonly event: { readonly nonces_from?: number };
  readonly deletes: readonly RowKey[];
} {
  const before = nothingComesBefore(view.snapshot.context, view.nowMs);
  const over = tables.noncesByTime.readAll(view).filter(({ k }) => k < before);
  const last = over.at(-1);
  if (last === undefined) return noneForgotten;
  return {
    event: { nonces_from: last.k },
    deletes: over.flatMap(({ k, k2 }) => [tables.nonces.key(k2), tables.noncesByTime.key(k2, k)]),
  };
}

function nonceKey({ key_id, nonce }: Pick<LedgerCharge, "key_id" | "nonce">): string {
  return `${key_id} ${nonce}`;
}

const emptyReport = { currency: "", balance: 0, reserved: 0, holders: [], charged_before: [] };

function reportOf(context: LedgerContext): LedgerReport | null {
  const { currency, balance, holders, regions } = context;
  if (currency === null) return null;
  return {
    currency,
    balance,
    reserved: balance - availableOf(context),
    holders: Object.entries(holders).map(([holder, facts]) => ({
      holder,
      reserved: reservedFor(facts),
      until_ms: facts.until_ms,
    })),
    charged_before: Object.entries(regions).map(([region, { settled_ms }]) => ({
      region,
      at_ms: settled_ms,
    })),
  };
}

function shownOf({ snapshot: { context }, nowMs }: View): LedgerShown | null {
  const report = reportOf(context);
  return report && { ...report, ...outlookOf(context, nowMs), last_top_up: context.last_top_up };
}

// What a ledger writes down for its statements: what was charged on each day, the sums of each month, and the entries.

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

const tables = {
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

type StatementView = Pick<ActorView, "row" | "rowsOf" | "nowMs">;

/** A table whose keys say everything. */
function emptyTable(name: string, rt: number): RowTable<string> {
  return defineTable<string>({ name, rt, encode: (text) => text, decode: (text) => text });
}

/** `YYYY-MM` of an instant, UTC. */
function monthOf(ms: number): string {
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
function daysOf({ charges, at_ms }: Charges): readonly string[] {
  return [...new Set(charges.map(({ served_at_ms }) => dayKey(served_at_ms, at_ms)))];
}

/** Whether these charges belong to other months now than when they were collected, whose days were read. */
function areLate({ charges, at_ms }: Charges, nowMs: number): boolean {
  return charges.some(({ served_at_ms }) => dayKey(served_at_ms, at_ms) !== dayKey(served_at_ms, nowMs));
}

export interface Charges {
  readonly charges: readonly LedgerCharge[];
  /** When they were collected. */
  readonly at_ms: number;
}

/** The rows with these charges added, and the sum of them. */
function noteCharges(
  { charges, at_ms }: Charges,
  view: StatementView,
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

const noSums: MonthSums = { charged: 0, entered: 0, entries: 0 };

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
function entryKey(atMs: number, entryId: string): string {
  return `${monthOf(atMs)}/${String(atMs).padStart(15, "0")}/${entryId}`;
}

/** The rows that a statement is made of. A month has its own days of charges, and late ones of regions that were down. */
function statementRows(asked: {
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
const monthsMax = 1_200;
/** A month, and the 400 days for which receipts are usually kept: so late may a region that was down be charged. */
const daysMax = 31 + 400;

function statementOf(
  { currency, month }: { readonly currency: string; readonly month: string },
  view: StatementView,
): MonthStatement {
  const { charged, entered } = tables.months.read(view, month) ?? noSums;
  const earlier = tables.months.readAll(view).filter(({ k2 }) => k2 < month);
  const opening = earlier.reduce((sum, { value }) => sum + value.entered - value.charged, 0);
  const isOwn = ({ k2 }: { readonly k2: string }): boolean => k2.startsWith(`${month}/`);
  const entries = tables.entries.readAll(view).filter(isOwn);
  const page = entries.slice(0, entriesPageMax);
  return {
    currency,
    month,
    opening,
    charged,
    entered,
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
