// The prepaid allowance, as a node spends it: slices lent by the company's ledger, so that a request asks nobody.
//   AL1. Nothing billable is served without money set aside for it: each answer is paid for out of a slice before it is
//        prepared, and what turns out not to be billable is put back.
//   AL2. A slice is spent only until its lease ends, counted from the moment at which it was first asked for. What is left of it
//        then is given back with the next request, or freed by the ledger once everything served under it is charged.
//   AL3. The next slice is asked for when half of the last one is spent, or most of its time; so a request waits for the ledger
//        only where a company's first one does, or its money is nearly spent.
//   AL4. If the ledger cannot be asked, what is left of the slice is still spent; after that requests are refused with 503 and
//        nothing is charged (specification, «Errors»).
//   AL5. What a company that stopped asking was lent is given back.
//   AL6. One request to the ledger is under way for a company; it is repeated under its number until it is answered.

import type { HolderName, LeaseReply } from "../../actors/messages/ledger.ts";
import { ledgerRef } from "../../actors/messages/refs.ts";
import type { ActorSystem } from "../../actors/system/definition.ts";
import type { Clock } from "../../crypto/port.ts";
import { type Priced, type PriceList, priceOf } from "../../protocol/price-list.ts";
import { type Refused, refusedWith } from "../answer.ts";

export interface AllowanceDeps {
  readonly actors: ActorSystem;
  readonly prices: () => PriceList | null;
  /** Under which name this run of the node is lent money; null while it may not answer. */
  readonly holder: () => HolderName | null;
  readonly clock: Clock;
  /** Whole milliseconds since an arbitrary instant; monotonic. */
  readonly elapsedMs: () => number;
}

/** What was paid for one answer. */
export interface Payment {
  /** Nothing billable was served after all. */
  readonly putBack: () => void;
}

export interface Allowance {
  /** Pays for an answer before it is prepared; a promise only if the ledger has to be asked. */
  readonly pay: (
    company: string,
    priced: Omit<Priced, "atMs">,
  ) => Payment | Refused | Promise<Payment | Refused>;
  /** What it did since the node started, for operators. */
  readonly figures: () => AllowanceFigures;
  /** Gives back what companies that stopped asking were lent, or everything if the node ends. */
  readonly giveBack: (what: "idle" | "all") => Promise<void>;
}

export interface AllowanceFigures {
  /** Companies for which the node holds a slice, or asks for one. */
  readonly companies: number;
  /** Slices that ledgers lent. */
  readonly leased: number;
  /** Answers that were refused because a company's money was spent. */
  readonly exhausted: number;
  /** Answers that were refused because the ledger could not be asked. */
  readonly unanswered: number;
}

/** Maximum number of companies for which a node holds money at once. */
const companiesMax = 10_000;
/** The number of answers for which a slice is enough at least, and how often the last one doubles while it is used up fast. */
const answersMin = 20;
const growth = 2;
/** A slice that lasts longer than that need not grow. */
const fastMs = 5_000;
/** After this long without a request, a slice is given back. */
const idleMs = 20_000;
/** For how long a ledger that had nothing is not asked again. */
const exhaustedMs = 500;
/** How long before the end of a lease the next one is asked for. */
const renewBeforeMs = 30_000;
/** An answer that is begun in the last moments of a lease may be served after it. */
const leaseSpareMs = 5_000;
/** How long a request waits for the ledger, and how often it asks. */
const askTimeoutMs = 5_000;
const asksMax = 3;

interface LedgerRequest {
  readonly n: number;
  readonly wanted: number;
  readonly price: number;
  readonly returned: number;
  /** When it was first sent. */
  readonly sentAt: number;
}

/** Times are by `elapsedMs`. */
interface Slice {
  readonly holder: HolderName;
  left: number;
  lastLent: number;
  lentAt: number;
  endsAt: number;
  usedAt: number;
  /** Until when the ledger is known to have less than `emptyOf`. */
  emptyUntil: number;
  emptyOf: number;
  /** See AL6. */
  request: LedgerRequest | null;
  asking: Promise<LeaseReply["status"] | "unknown"> | null;
  /** How many leases have ended: what was paid out of an earlier one is not put back into this one. */
  ended: number;
}

/** For an answer that costs nothing. */
export const free: Payment = { putBack: () => {} };

const exhausted = refusedWith(
  "allowance_exhausted",
  "The prepaid allowance is spent; nothing was served and nothing is charged.",
);
const cannotCheck = refusedWith(
  "unavailable",
  "The allowance cannot be checked now; nothing was served and nothing is charged.",
  {
    reason: "allowance",
    retry_after_seconds: 1,
  },
  { "retry-after": "1" },
);

/** How the answers to a company are refused where nobody pays. */
export type TrialAllowance = "spent" | "unchecked";

/** The allowance of a sandbox: nothing is charged, and the companies in `refused` are refused as where something is. */
export function createTrialAllowance(refused: ReadonlyMap<string, TrialAllowance>): Allowance {
  const outcomes = { spent: exhausted, unchecked: cannotCheck };
  return {
    pay: (company) => {
      const how = refused.get(company);
      return how === undefined ? free : outcomes[how];
    },
    figures: () => ({ companies: 0, leased: 0, exhausted: 0, unanswered: 0 }),
    giveBack: () => Promise.resolve(),
  };
}

/** The slices of prepaid money that this node holds; see {@link Allowance}. */
export function createAllowance(deps: AllowanceDeps): Allowance {
  const slices = new Map<string, Slice>();
  const count = { leased: 0, exhausted: 0, unanswered: 0 };
  const ledgers = createLedgers(deps, () => {
    count.leased += 1;
  });
  const counted = <T extends Payment | Refused>(outcome: T): T => {
    if (outcome === exhausted) count.exhausted += 1;
    else if (outcome === cannotCheck) count.unanswered += 1;
    return outcome;
  };
  return {
    figures: () => ({ companies: slices.size, ...count }),
    pay: (company, priced) => {
      const prices = deps.prices();
      const price = prices === null ? 0 : priceOf(prices, { ...priced, atMs: deps.clock.now() });
      if (price === 0) return free;
      const slice = sliceOf(deps, slices, company);
      if (slice === null) return counted(cannotCheck);
      const now = deps.elapsedMs();
      slice.usedAt = now;
      const payment = spend(slice, price, now);
      if (payment === null) return payLater(deps, ledgers, { company, slice, price }).then(counted);
      if (isRenewalDue(slice, now)) void ledgers.borrow(company, slice, price);
      return payment;
    },
    giveBack: async (what) => {
      const now = deps.elapsedMs();
      const over = [...slices].filter(([, { usedAt }]) => what === "all" || now - usedAt >= idleMs);
      await Promise.all(
        over.map(async ([company, slice]) => {
          await ledgers.giveBack(company, slice);
          if (slice.request === null && slice.left === 0 && slices.get(company) === slice)
            slices.delete(company);
        }),
      );
    },
  };
}

function sliceOf(deps: AllowanceDeps, slices: Map<string, Slice>, company: string): Slice | null {
  const holder = deps.holder();
  if (holder === null) return null;
  const known = slices.get(company);
  // What another run of the node was lent is freed by the ledger.
  if (known?.holder === holder) return known;
  if (known === undefined && slices.size >= companiesMax) return null;
  const slice: Slice = {
    holder,
    left: 0,
    lastLent: 0,
    lentAt: 0,
    endsAt: 0,
    usedAt: 0,
    emptyUntil: 0,
    emptyOf: 0,
    request: null,
    asking: null,
    ended: 0,
  };
  slices.set(company, slice);
  return slice;
}

/** Null if the slice has too little, or its lease has ended. */
function spend(slice: Slice, price: number, now: number): Payment | null {
  if (now >= slice.endsAt || slice.left < price) return null;
  slice.left -= price;
  const { ended } = slice;
  let isPaid = true;
  return {
    putBack: () => {
      if (isPaid && slice.ended === ended) slice.left += price;
      isPaid = false;
    },
  };
}

function isRenewalDue({ left, lastLent, endsAt, emptyUntil, asking }: Slice, now: number): boolean {
  return asking === null && now >= emptyUntil && (2 * left < lastLent || now >= endsAt - renewBeforeMs);
}

async function payLater(
  deps: AllowanceDeps,
  ledgers: Ledgers,
  { company, slice, price }: { readonly company: string; readonly slice: Slice; readonly price: number },
): Promise<Payment | Refused> {
  for (let asks = 0; asks < asksMax; asks += 1) {
    // A request that was under way may have been for a dearer answer: that it was refused says nothing about this one.
    if (isEmpty(slice, price, deps.elapsedMs())) return exhausted;
    const status = await ledgers.borrow(company, slice, price);
    const payment = spend(slice, price, deps.elapsedMs());
    if (payment !== null) return payment;
    if (status !== "leased" && status !== "exhausted") return cannotCheck;
  }
  if (isEmpty(slice, price, deps.elapsedMs())) return exhausted;
  // Others were faster each time: what was lent is spent.
  return cannotCheck;
}

function isEmpty(slice: Slice, price: number, now: number): boolean {
  return now < slice.emptyUntil && missingOf(slice, price, now) >= slice.emptyOf;
}

/** What a slice lacks for an answer. What is left of it counts: the last of the money may be in two parts. */
function missingOf({ left, endsAt }: Slice, price: number, now: number): number {
  return now < endsAt ? Math.max(1, price - left) : price;
}

interface Ledgers {
  /** Asks for the next slice, or waits for the request that is under way. */
  borrow(company: string, slice: Slice, price: number): Promise<LeaseReply["status"] | "unknown">;
  giveBack(company: string, slice: Slice): Promise<void>;
}

function createLedgers({ actors, elapsedMs }: AllowanceDeps, onLeased: () => void): Ledgers {
  // Requests are numbered for all companies together, so no number of a holder is ever used twice.
  let lastNumber = 0;
  const send = (company: string, slice: Slice, asked: Pick<LedgerRequest, "wanted" | "price">) => {
    if (slice.asking !== null) return slice.asking;
    endLease(slice, elapsedMs());
    if (slice.request === null) {
      lastNumber += 1;
      // What is left is lent once more rather than given back, unless its lease has ended.
      const returned = asked.wanted === 0 || slice.endsAt === 0 ? slice.left : 0;
      slice.left -= returned;
      slice.request = { n: lastNumber, ...asked, returned, sentAt: elapsedMs() };
    }
    slice.asking = ask(company, slice, slice.request).finally(() => {
      slice.asking = null;
    });
    return slice.asking;
  };
  const ask = async (company: string, slice: Slice, request: LedgerRequest) => {
    const { sentAt, ...command } = request;
    const { holder } = slice;
    const reply = await actors
      .ask(ledgerRef(company), { type: "slice.lease", holder, ...command }, { timeoutMs: askTimeoutMs })
      // Whatever the reason is: the ledger was not asked, or its answer is unknown, and the same request is sent again (AL6).
      .catch(() => null);
    if (reply === null) return "unknown";
    slice.request = null;
    if (reply.status === "leased" && request.wanted > 0) onLeased();
    noteReply(slice, reply, { ...request, nowMs: elapsedMs() });
    return reply.status;
  };
  return {
    borrow: (company, slice, price) => {
      const now = elapsedMs();
      const asked = { wanted: nextSlice(slice, price, now), price: missingOf(slice, price, now) };
      return send(company, slice, asked);
    },
    giveBack: async (company, slice) => {
      await send(company, slice, { wanted: 0, price: 0 });
      if (slice.left > 0 && slice.request === null) await send(company, slice, { wanted: 0, price: 0 });
    },
  };
}

/** A slice doubles while the last one is used up fast. */
function nextSlice({ lastLent, lentAt }: Slice, price: number, now: number): number {
  const least = answersMin * price;
  return Math.max(least, now - lentAt < fastMs ? growth * lastLent : lastLent);
}

/** See AL2. */
function endLease(slice: Slice, now: number): void {
  if (now < slice.endsAt || slice.endsAt === 0) return;
  slice.endsAt = 0;
  slice.ended += 1;
}

function noteReply(
  slice: Slice,
  reply: LeaseReply,
  { sentAt, nowMs, wanted, price }: LedgerRequest & { readonly nowMs: number },
): void {
  if (reply.status === "exhausted") Object.assign(slice, { emptyUntil: nowMs + exhaustedMs, emptyOf: price });
  if (reply.status !== "leased" || wanted === 0) return;
  const endsAt = sentAt + reply.lease_ms - leaseSpareMs;
  slice.left += reply.amount;
  if (endsAt <= nowMs) return;
  slice.lastLent = reply.amount;
  slice.lentAt = nowMs;
  slice.endsAt = Math.max(slice.endsAt, endsAt);
}
