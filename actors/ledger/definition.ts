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
  reservedFor,
} from "../../machines/ledger.ts";
import type { RowKey, RowSelection } from "../../storage/actor-store.ts";
import { positionAt } from "../../storage/receipt-store.ts";
import type {
  EnteredEntry,
  EnterReply,
  LeaseReply,
  LedgerCharge,
  LedgerEntry,
  LedgerProtocol,
  LedgerReport,
} from "../messages/ledger.ts";
import type { CommandOf, Commands, DoneReply } from "../messages/protocol.ts";
import { type Decision, defineActor, type ViewOf } from "../system/definition.ts";
import {
  areLate,
  daysOf,
  entryKey,
  monthOf,
  monthsMax,
  noSums,
  noteCharges,
  statementOf,
  statementRows,
  tables,
} from "./statement.ts";

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
    "ledger.read": (_command, view) => ({ reply: reportOf(view.snapshot.context) }),
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
    return { reply, events: [{ type: "charges.booked", ...again, used: {}, count: 0, amount: 0 }] };
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
    ...{ region, up_to, more, used, count: charged.length, amount: noted.amount },
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
    ...{ currency, balance, reserved: balance - availableOf(context) },
    holders: Object.entries(holders).map(([holder, facts]) => ({
      ...{ holder, reserved: reservedFor(facts), until_ms: facts.until_ms },
    })),
    charged_before: Object.entries(regions).map(([region, { settled_ms }]) => ({
      region,
      at_ms: settled_ms,
    })),
  };
}
