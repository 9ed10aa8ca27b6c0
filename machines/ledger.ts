// Ledger: the prepaid money of an AI company, and how much of it nodes may spend without asking.
//   LE1. The balance is the sum of all entries and all charges; both are booked once.
//   LE2. What is reserved for a holder is what it was lent, less what it returned and what was charged to it, and never less
//        than nothing. What is available is the balance less all of it.
//   LE3. The charges of a region are booked in the order of its receipts, each page once: `up_to` is how far that is.
//   LE4. A holder is forgotten once its lease is over and everything that it served under it is booked: only then is the rest
//        of what it was lent available to others.
//   LE5. One collection is under way in each region in which money was lent; the next begins when it is booked.
//   LE6. The hours in which anything was charged are kept as long as they are within a day of the newest: that day's sum is the rate by
//        which the days that are left are told, also of a company that is refused since its money was spent.

import { assign, setup } from "xstate";

export interface LedgerHolder {
  /** The number of its last request, and what that request was given. */
  readonly n: number;
  readonly given: number;
  readonly lent: number;
  readonly returned: number;
  readonly charged: number;
  /** Nothing is served under the lease later than that, by any clock of the deployment. */
  readonly until_ms: number;
}

export interface LedgerContext {
  readonly currency: string | null;
  readonly balance: number;
  /** By name: `region/incarnation`. */
  readonly holders: Readonly<Record<string, LedgerHolder>>;
  /** How far each region is booked: the last receipt, and the instant before which nothing more comes. */
  readonly regions: Readonly<Record<string, { readonly up_to: string; readonly settled_ms: number }>>;
  /** The regions whose charges are being collected. */
  readonly collecting: readonly string[];
  /** Unix milliseconds: what was served earlier cannot be charged any more, and its nonces are forgotten. */
  readonly nonces_from: number;
  /** What was charged in each hour, by its number since 1970 (LE6). */
  readonly hours: Readonly<Record<string, number>>;
  readonly last_top_up: { readonly amount: number; readonly at_ms: number } | null;
}

export type LedgerEvent =
  | {
      readonly type: "money.entered";
      readonly entry_id: string;
      readonly kind: "top_up" | "correction";
      readonly amount: number;
      readonly currency: string;
      readonly by: string;
      readonly reason: string;
      readonly at_ms: number;
    }
  | {
      readonly type: "slice.leased";
      readonly holder: string;
      readonly n: number;
      readonly amount: number;
      readonly returned: number;
      readonly until_ms: number;
      /** Where the receipts of the region that are charged begin, if nobody there may have unbooked ones. */
      readonly from: string;
    }
  | {
      readonly type: "charges.booked";
      readonly region: string;
      readonly up_to: string;
      readonly settled_ms: number;
      readonly more: boolean;
      readonly count: number;
      readonly amount: number;
      readonly at_ms: number;
      /** What each holder's reservation shrinks by: what was charged, and what had been charged elsewhere before. */
      readonly used: Readonly<Record<string, number>>;
      /** {@link LedgerContext.nonces_from} from now on, if it changes. */
      readonly nonces_from?: number;
    };

/** How often the charges of the regions are collected. */
const collectMs = 30_000;

/** See LE2. */
export function reservedFor({ lent, returned, charged }: LedgerHolder): number {
  return Math.max(0, lent - returned - charged);
}

export function availableOf({ balance, holders }: Pick<LedgerContext, "balance" | "holders">): number {
  return Object.values(holders).reduce((rest, holder) => rest - reservedFor(holder), balance);
}

const hourMs = 3_600_000;
const dayHours = 24;
/** An account that does not last so long runs low: a payment takes some days. */
const lowDays = 7;

/** How long the money lasts (LE6); `days_left` is null where nothing was ever charged. */
export function outlookOf({ balance, hours }: Pick<LedgerContext, "balance" | "hours">, nowMs: number) {
  const hour = Math.floor(nowMs / hourMs);
  const rate = Object.values(hours).reduce((sum, amount) => sum + amount, 0);
  const days_left = balance <= 0 ? 0 : rate === 0 ? null : Math.floor(balance / rate);
  return {
    used_last_day: Object.entries(hours).reduce(
      (sum, [each, amount]) => (Number(each) > hour - dayHours ? sum + amount : sum),
      0,
    ),
    days_left,
    is_low: days_left !== null && days_left < lowDays,
  };
}

/** LE6. */
function noteHour(
  hours: LedgerContext["hours"],
  { amount, at_ms }: { readonly amount: number; readonly at_ms: number },
) {
  if (amount === 0) return hours;
  const hour = Math.floor(at_ms / hourMs);
  const kept = Object.entries(hours).filter(([each]) => Number(each) > hour - dayHours);
  return { ...Object.fromEntries(kept), [hour]: (hours[hour] ?? 0) + amount };
}

/** How long after an answer the same signed request may be answered in another region: while its signature is valid, and more. */
const sameRequestMs = 15 * 60_000;

/**
 * The instant before which nothing that was served can still be charged, nor another answer to the same request: every region in
 * which money is lent is booked until then (LE4), and a region in which none is lent begins after now.
 */
export function nothingComesBefore({ holders, regions }: LedgerContext, nowMs: number): number {
  const settled = Object.keys(holders).map((holder) => regions[regionOf(holder)]?.settled_ms ?? 0);
  return Math.min(nowMs, ...settled) - sameRequestMs;
}

/** The region in a holder's name. */
export function regionOf(holder: string): string {
  return holder.slice(0, holder.indexOf("/"));
}

/** The next page of a region's receipts. */
export interface NextPage {
  readonly region: string;
  /** The end of the page before. */
  readonly after: string;
}

/** The pages with which collections may begin now (LE5). */
function nextPages({ holders, regions, collecting }: LedgerContext): readonly NextPage[] {
  const lent = new Set(Object.keys(holders).map(regionOf));
  return [...lent]
    .filter((region) => !collecting.includes(region))
    .sort()
    .map((region) => ({ region, after: regions[region]?.up_to ?? "" }));
}

const unknownHolder: LedgerHolder = { n: 0, given: 0, lent: 0, returned: 0, charged: 0, until_ms: 0 };

export const ledgerMachine = setup({
  types: { context: {} as LedgerContext, events: {} as LedgerEvent, input: {} as object },
  delays: { collect: collectMs },
  guards: {
    isOpened: ({ context }) => context.currency !== null,
    hasMoney: ({ context }) => context.balance > 0,
    isSpent: ({ context }) => context.balance <= 0,
    hasNoHolder: ({ context }) => Object.keys(context.holders).length === 0,
    hasHolders: ({ context }) => Object.keys(context.holders).length > 0,
    hasMore: ({ event }) => event.type === "charges.booked" && event.more,
  },
  actions: {
    noteEntry: assign(({ context, event }) =>
      event.type === "money.entered"
        ? {
            currency: event.currency,
            balance: context.balance + event.amount,
            last_top_up:
              event.kind === "top_up" ? { amount: event.amount, at_ms: event.at_ms } : context.last_top_up,
          }
        : {},
    ),
    noteLease: assign(({ context, event }) => {
      if (event.type !== "slice.leased") return {};
      const { holder, n, amount, returned, until_ms, from } = event;
      const known = context.holders[holder] ?? unknownHolder;
      const next: LedgerHolder = {
        ...known,
        n,
        given: amount,
        lent: known.lent + amount,
        returned: known.returned + returned,
        until_ms: Math.max(known.until_ms, until_ms),
      };
      const region = regionOf(holder);
      const isFirst = !Object.keys(context.holders).some((each) => regionOf(each) === region);
      const { up_to, settled_ms } = context.regions[region] ?? { up_to: "", settled_ms: 0 };
      const start = { up_to: isFirst && from > up_to ? from : up_to, settled_ms };
      return {
        holders: { ...context.holders, [holder]: next },
        regions: { ...context.regions, [region]: start },
      };
    }),
    noteCharges: assign(({ context, event }) =>
      event.type === "charges.booked" ? booked(context, event) : {},
    ),
    noteCollecting: assign(({ context }) => ({
      collecting: [...context.collecting, ...nextPages(context).map(({ region }) => region)],
    })),
    // Effects: named here, performed by the actor system.
    collect: (_, _params: { pages: readonly NextPage[] }) => {},
  },
}).createMachine({
  id: "ledger",
  context: {
    currency: null,
    balance: 0,
    holders: {},
    regions: {},
    collecting: [],
    nonces_from: 0,
    hours: {},
    last_top_up: null,
  },
  type: "parallel",
  on: {
    "money.entered": { actions: "noteEntry" },
    "slice.leased": { actions: "noteLease" },
    "charges.booked": [
      {
        guard: "hasMore",
        actions: [
          "noteCharges",
          {
            type: "collect",
            params: ({ event: { region, up_to } }) => ({ pages: [{ region, after: up_to }] }),
          },
        ],
      },
      { actions: "noteCharges" },
    ],
  },
  states: {
    account: {
      initial: "unopened",
      states: {
        unopened: { always: { guard: "isOpened", target: "exhausted" } },
        funded: { always: { guard: "isSpent", target: "exhausted" } },
        exhausted: { always: { guard: "hasMoney", target: "funded" } },
      },
    },
    slices: {
      initial: "none",
      states: {
        none: { always: { guard: "hasHolders", target: "lent" } },
        lent: {
          always: { guard: "hasNoHolder", target: "none" },
          after: {
            collect: {
              target: "lent",
              reenter: true,
              actions: [
                { type: "collect", params: ({ context }) => ({ pages: nextPages(context) }) },
                "noteCollecting",
              ],
            },
          },
        },
      },
    },
  },
});

function booked(
  context: LedgerContext,
  event: Extract<LedgerEvent, { type: "charges.booked" }>,
): Partial<LedgerContext> {
  const { region, up_to, settled_ms, more, amount, used } = event;
  const holders = Object.entries(context.holders).flatMap(([name, holder]) => {
    if (regionOf(name) !== region) return [[name, holder] as const];
    // LE4: on the last page, everything that was served before `settled_ms` is booked.
    if (!more && holder.until_ms < settled_ms) return [];
    return [[name, { ...holder, charged: holder.charged + (used[name] ?? 0) }] as const];
  });
  return {
    balance: context.balance - amount,
    hours: noteHour(context.hours, event),
    holders: Object.fromEntries(holders),
    regions: { ...context.regions, [region]: { up_to, settled_ms } },
    nonces_from: event.nonces_from ?? context.nonces_from,
    collecting: more ? context.collecting : context.collecting.filter((each) => each !== region),
  };
}
