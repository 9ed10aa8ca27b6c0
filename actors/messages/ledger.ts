// The commands of an AI company's ledger: its prepaid money. Amounts are whole millionths of the currency's unit.

import type { DoneReply } from "./protocol.ts";

/** Who may spend of the money: one run of a node, `region/incarnation`. */
export type HolderName = string;

export interface LedgerEntry {
  /** Given by the operator: the same entry under the same id is made once. */
  readonly entry_id: string;
  readonly kind: "top_up" | "correction";
  /** Negative only for a correction. */
  readonly amount: number;
  /** ISO 4217. */
  readonly currency: string;
  readonly by: string;
  readonly reason: string;
}

/** One answer that is charged; (`key_id`, `nonce`) is charged once. */
export interface LedgerCharge {
  readonly key_id: string;
  readonly nonce: string;
  readonly kind: "search" | "fetch";
  /** Null for a fetch. */
  readonly collection: string | null;
  readonly price: number;
  readonly served_at_ms: number;
  readonly holder: HolderName;
}

export interface LedgerReport {
  readonly currency: string;
  /** What was paid in, corrected and charged until now. */
  readonly balance: number;
  /** What of it nodes may spend without asking, or have spent and is not charged yet. */
  readonly reserved: number;
  readonly holders: readonly {
    readonly holder: HolderName;
    readonly reserved: number;
    readonly until_ms: number;
  }[];
  /** For each region, the instant before which everything that it served is charged. */
  readonly charged_before: readonly { readonly region: string; readonly at_ms: number }[];
}

export interface LedgerShown extends LedgerReport {
  /** What was charged in the last 24 hours. */
  readonly used_last_day: number;
  /** Whole days for which the balance lasts at the rate of the last day in which anything was charged; null if nothing ever was. */
  readonly days_left: number | null;
  readonly is_low: boolean;
  readonly last_top_up: { readonly amount: number; readonly at_ms: number } | null;
}

/** What was charged for one kind of answer on one day, at one price: `amount` is `count` times `price`. */
export interface StatementLine {
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string;
  readonly kind: LedgerCharge["kind"];
  readonly collection: string | null;
  readonly price: number;
  readonly count: number;
  readonly amount: number;
}

export interface EnteredEntry extends LedgerEntry {
  readonly at_ms: number;
}

export interface MonthStatement {
  readonly currency: string;
  /** `YYYY-MM`. */
  readonly month: string;
  readonly opening: number;
  readonly charged: number;
  readonly entered: number;
  /** `opening + entered - charged`; the opening of the next month. */
  readonly closing: number;
  /** Whether nothing can be booked into the month any more. */
  readonly is_final: boolean;
  readonly lines: readonly StatementLine[];
  readonly entries: readonly EnteredEntry[];
  /** Where the list of entries goes on; null after the last. */
  readonly next_after: string | null;
}

export interface LedgerProtocol {
  "money.enter"(command: LedgerEntry): EnterReply;
  /**
   * Sets money aside for a holder, and takes back what the holder did not need. `n` counts the requests of a holder: the
   * repetition of one gets the same answer. With `wanted: 0`, money is only taken back.
   */
  "slice.lease"(command: {
    readonly holder: HolderName;
    readonly n: number;
    readonly wanted: number;
    /** The least that is of use. */
    readonly price: number;
    readonly returned: number;
  }): LeaseReply;
  /** One page of what a region served, in the order of its receipts: `after` is the end of the page before. */
  "charges.collected"(command: CollectedCharges): DoneReply;
  /** Read-only. Null before the first entry. */
  "ledger.read"(): LedgerShown | null;
  /** Read-only. Null before the first entry. */
  "ledger.statement"(command: {
    readonly month: string;
    /** See {@link MonthStatement.next_after}. */
    readonly after: string | null;
  }): MonthStatement | null;
}

export interface CollectedCharges {
  readonly region: string;
  readonly after: string;
  readonly up_to: string;
  /** Everything that the region served before is in this page or in earlier ones; only on the last page. */
  readonly settled_ms: number;
  readonly more: boolean;
  /** Whether another region may have answered the same request. */
  readonly shared: boolean;
  readonly charges: readonly LedgerCharge[];
  /** When the page was read; it decides into which month late charges are booked. */
  readonly at_ms: number;
}

export type EnterReply =
  | { readonly status: "entered"; readonly report: LedgerReport }
  /** The id names another entry. */
  | { readonly status: "conflict" }
  /** The account is kept in another currency, or the amount is beyond what an account may hold. */
  | { readonly status: "currency_mismatch"; readonly currency: string }
  | { readonly status: "too_large" }
  /** The month has as many entries as a statement shows. */
  | { readonly status: "too_many" };

export type LeaseReply =
  /** `lease_ms` counts from the moment at which the holder asked. */
  | { readonly status: "leased"; readonly amount: number; readonly lease_ms: number }
  | { readonly status: "exhausted" }
  /** Too many holders, or the request is older than one that was answered. */
  | { readonly status: "refused" };
