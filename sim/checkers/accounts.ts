// What the ledgers of a world committed, as it happens, and what the companies received for it.
//   AC1. Money that is lent, returned and charged is counted for each holder by the commits alone, never by what a ledger says.

import { type LedgerEvent, reservedFor } from "../../machines/ledger.ts";

interface Lent {
  lent: number;
  returned: number;
  charged: number;
  untilMs: number;
}

interface Account {
  entered: number;
  balance: number;
  readonly holders: Map<string, Lent>;
  /** What was available from which moment on. */
  readonly available: { readonly atMs: number; readonly amount: number }[];
  /** Billable answers that were received, by keyid and nonce. */
  readonly received: Map<string, number>;
}

export interface ReceivedAnswer {
  readonly company: string;
  readonly keyId: string;
  readonly nonce: string;
  readonly price: number;
}

export class Accounts {
  readonly #accounts = new Map<string, Account>();
  readonly #violate: (invariant: string, detail: string) => void;
  readonly #nowMs: () => number;

  constructor(nowMs: () => number, violate: (invariant: string, detail: string) => void) {
    this.#nowMs = nowMs;
    this.#violate = violate;
  }

  /** A ledger committed an event. */
  committed(company: string, event: LedgerEvent): void {
    const account = this.of(company);
    if (event.type === "money.entered") {
      account.entered += event.amount;
      account.balance += event.amount;
    } else if (event.type === "slice.leased") lend(account, event);
    else if (event.type === "charges.booked") this.#book(company, event);
    const amount = [...account.holders.values()].reduce(
      (rest, each) => rest - reservedOf(each),
      account.balance,
    );
    if (amount < 0) this.#violate("never-unpaid", `${-amount} of ${company} is lent out and was not paid in`);
    account.available.push({ atMs: this.#nowMs(), amount });
  }

  /** Every charge is of a holder that was lent money for it. */
  #book(company: string, event: Extract<LedgerEvent, { type: "charges.booked" }>): void {
    const { holders } = this.of(company);
    this.of(company).balance -= event.amount;
    for (const [name, used] of Object.entries(event.used)) {
      const holder = holders.get(name);
      if (holder === undefined || reservedOf(holder) < used)
        this.#violate(
          "charges-are-covered",
          `${used} is charged to ${company} for ${name}, which had ${holder === undefined ? "nothing" : reservedOf(holder)}`,
        );
      if (holder !== undefined) holder.charged += used;
    }
    if (event.more) return;
    for (const [name, { untilMs }] of holders)
      if (name.startsWith(`${event.region}/`) && untilMs < event.settled_ms) holders.delete(name);
  }

  /** A company received an answer that costs something. */
  received({ company, keyId, nonce, price }: ReceivedAnswer): void {
    const { received, entered } = this.of(company);
    received.set(`${keyId} ${nonce}`, price);
    const sum = [...received.values()].reduce((all, each) => all + each, 0);
    if (sum > entered)
      this.#violate("never-unpaid", `${company} received answers for ${sum}, ${entered} was paid in`);
  }

  /** The least that was available to a company since a moment, whatever nodes held. */
  leastAvailable(company: string, sinceMs: number): number {
    const { available } = this.of(company);
    const before = available.findLast(({ atMs }) => atMs < sinceMs)?.amount ?? 0;
    return Math.min(before, ...available.filter(({ atMs }) => atMs >= sinceMs).map(({ amount }) => amount));
  }

  of(company: string): Account {
    const known = this.#accounts.get(company);
    if (known !== undefined) return known;
    const account: Account = {
      ...{ entered: 0, balance: 0 },
      ...{ holders: new Map(), available: [], received: new Map() },
    };
    this.#accounts.set(company, account);
    return account;
  }
}

function reservedOf(holder: Lent): number {
  return reservedFor({ ...holder, n: 0, given: 0, until_ms: holder.untilMs });
}

function lend(account: Account, event: Extract<LedgerEvent, { type: "slice.leased" }>): void {
  const known = account.holders.get(event.holder) ?? { lent: 0, returned: 0, charged: 0, untilMs: 0 };
  account.holders.set(event.holder, {
    lent: known.lent + event.amount,
    returned: known.returned + event.returned,
    charged: known.charged,
    untilMs: Math.max(known.untilMs, event.until_ms),
  });
}
