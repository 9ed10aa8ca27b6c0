// GET /v1/allowance and GET /v1/statements/{month}: what a company has paid in, and what it was charged.

import {
  described,
  flag,
  integer,
  listOf,
  matching,
  namedObject,
  nullable,
  type Of,
  object,
  oneOf,
  region,
  text,
  timestamp,
} from "../shape.ts";

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
/** A decimal string with at most six decimals, with a minus sign if it is negative. */
const amount = matching(
  /^-?(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,6})?$/,
  'an amount such as "12.5" or "-0.002"',
);
const currency = described(matching(/^[A-Z]{3}$/, "an ISO 4217 code"), "ISO 4217.");
export const month = matching(/^20[0-9]{2}-(?:0[1-9]|1[0-2])$/, "a month such as 2026-11");

const prices = namedObject("Prices", {
  version: count,
  effective_from: described(timestamp, "In force from then on, until that of a later version."),
  search: described(
    object({ products: amount, business_files: amount, events: amount, jobs: amount, updates: amount }),
    "A search with at least one row, by its collection.",
  ),
  fetch: described(amount, "A fetch that returns a record."),
});

export const account = namedObject("Account", {
  currency,
  balance: described(amount, "What was paid in and corrected, less what is charged."),
  reserved: described(
    amount,
    "What of it nodes may spend without asking, or have spent and is not charged yet.",
  ),
  available: described(amount, "The rest."),
  charged_before: described(
    listOf(object({ region, at: timestamp })),
    "For each region that served you: everything that it served before is charged.",
  ),
});
export type Account = Of<typeof account>;

export const allowanceAnswer = namedObject("Allowance", {
  billed: described(flag, "Whether anything is charged here; never in a sandbox."),
  account: described(nullable(account), "Null until something is paid in."),
  prices: described(
    nullable(object({ currency, versions: listOf(prices) })),
    "Every version, those to come included; null where nothing is charged.",
  ),
});
export type AllowanceAnswer = Of<typeof allowanceAnswer>;

const entryMembers = {
  entry_id: text(128),
  kind: oneOf(["top_up", "correction"]),
  amount,
  at: timestamp,
};

/** What every statement has, for its company and for operators. */
export const statementMembers = {
  currency,
  month,
  opening: described(amount, "The balance when the month began: the closing of the month before."),
  entered: described(amount, "Sum of the entries."),
  charged: described(amount, "Sum of the lines."),
  closing: described(amount, "opening + entered - charged."),
  is_final: described(
    flag,
    "Whether nothing of it changes any more; two days after the month at the latest.",
  ),
  lines: listOf(
    object({
      day: described(text(10), "The UTC day on which it was served."),
      kind: oneOf(["search", "fetch"]),
      collection: described(nullable(text(32)), "Null for fetches."),
      price: amount,
      count,
      amount: described(amount, "price * count."),
    }),
  ),
};

export const statementAnswer = namedObject("Statement", {
  ...statementMembers,
  entries: listOf(object(entryMembers)),
});
export type StatementAnswer = Of<typeof statementAnswer>;
