// The accounts of AI companies, as operators and the companies themselves read them (specification, «Errors» 402, «Billing»).
//   LG1. Amounts are exact: whole millionths inside, decimal strings outside.
//   LG2. A statement sums to the ledger: opening + entered - charged = closing, which is the opening of the next month, and
//        the closing of the current month is the balance.

import type { PartyFacts } from "../../actors/messages/business.ts";
import type {
  EnteredEntry,
  EnterReply,
  LedgerEntry,
  LedgerReport,
  MonthStatement,
} from "../../actors/messages/ledger.ts";
import { ledgerRef } from "../../actors/messages/refs.ts";
import type { ActorSystem, Actors } from "../../actors/system/definition.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { decimalOf, millionthsOf, type PriceList, type PriceVersion } from "../../protocol/price-list.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import { firstFault } from "../../protocol/shape.ts";
import {
  type Account,
  type AllowanceAnswer,
  month as monthShape,
  type StatementAnswer,
} from "../../protocol/wire/allowance.ts";
import { Semaphore } from "../../std/semaphore.ts";
import type { ActorStore } from "../../storage/actor-store.ts";
import { answerJson, invalidAt, type Outcome, refusedWith } from "../answer.ts";
import { failureAnswer } from "../failure.ts";

export interface LedgerDeps {
  readonly actors: ActorSystem;
  /** Null where nothing is charged. */
  readonly prices: () => PriceList | null;
}

/** Each page has 200 entries, and a month has at most 5,000. */
const pagesMax = 26;

const headers = Object.freeze({ "cache-control": "no-store", vary: "accept" });

/** GET /v1/allowance. */
export async function readAllowance({ actors, prices }: LedgerDeps, company: string): Promise<Outcome> {
  const list = prices();
  const answer: AllowanceAnswer = {
    billed: list !== null,
    account: await readAccount(actors, company),
    prices: list === null ? null : { currency: list.currency, versions: list.versions.map(shownPrices) },
  };
  return answerJson(200, answer, headers);
}

function shownPrices({ search, ...prices }: PriceVersion) {
  const { products, business_files, events, jobs, updates } = search;
  return {
    version: prices.version,
    effective_from: prices.effective_from,
    search: {
      products: decimal(products),
      business_files: decimal(business_files),
      events: decimal(events),
      jobs: decimal(jobs),
      updates: decimal(updates),
    },
    fetch: decimal(prices.fetch),
  };
}

/** The account as it is now; null until something is paid in. */
async function readAccount(actors: LedgerDeps["actors"], company: string): Promise<Account | null> {
  const report = await actors.ask(ledgerRef(company), { type: "ledger.read" });
  return report === null ? null : accountOf(report);
}

function accountOf({ currency, balance, reserved, charged_before }: LedgerReport): Account {
  return {
    currency,
    balance: decimal(balance),
    reserved: decimal(reserved),
    available: decimal(balance - reserved),
    charged_before: charged_before
      .filter(({ at_ms }) => at_ms > 0)
      .map(({ region, at_ms }) => ({ region, at: formatTimestamp(at_ms) })),
  };
}

/** What operators do with the accounts. */
export interface OperatorLedgers {
  account(company: string): Promise<Account | null>;
  /** A page of all accounts, those that run low first. */
  list(after: string): Promise<AccountList>;
  /** Makes an entry, once under its id. */
  enter(company: string, entry: EntryRequest): Promise<Result<Account, EntryFault>>;
  /** Null before the first entry. */
  statement(company: string, month: string): Promise<Result<OperatorStatement | null, "request_invalid">>;
}

/** An account among all of them. */
export interface ListedAccount extends Pick<Account, "currency" | "balance" | "available"> {
  readonly company_uuid: string;
  /** Null where this region's register does not have the company yet. */
  readonly legal_name: string | null;
  /** What was charged in the last 24 hours. */
  readonly used_last_day: string;
  /** Whole days for which the balance lasts at the rate of the last day in which anything was charged; null if nothing ever was. */
  readonly days_left: number | null;
  readonly is_low: boolean;
  readonly last_top_up: { readonly amount: string; readonly at: string } | null;
}

export interface AccountList {
  readonly accounts: readonly ListedAccount[];
  readonly next_after: string | null;
  /** Whether all accounts were looked at: not where there are too many, or one cannot be asked now. */
  readonly is_complete: boolean;
}

export interface EntryRequest extends Pick<LedgerEntry, "entry_id" | "kind" | "currency" | "by" | "reason"> {
  /** A decimal string. */
  readonly amount: string;
}

export type EntryFault =
  | "unknown"
  | "entry_id_used"
  | "amount_not_allowed"
  | "currency_mismatch"
  | "account_full";

/** With who made each entry, and why. */
export type OperatorStatement = Omit<StatementAnswer, "entries"> & {
  readonly entries: readonly (EntryRequest & { readonly at: string })[];
};

/** For operators: the balance of an AI company, and payments into it. */
export function createOperatorLedgers(deps: LedgerDeps & ListingDeps): OperatorLedgers {
  const { actors } = deps;
  const sweep = sweepOnce(deps);
  return {
    account: (company) => readAccount(actors, company),
    list: async (after) => listAccounts(await sweep(), after),
    enter: async (company, request) => {
      const { entry_id, kind, currency, by, reason } = request;
      if ((await deps.partyOf(company))?.kind !== "ai_company")
        return refuse("unknown", "No AI company has this UUID.");
      const amount = Number(signedMillionths(request.amount));
      if (amount === 0 || (kind === "top_up" && amount < 0))
        return refuse("amount_not_allowed", "A top-up is more than 0, and a correction is not 0.");
      const prices = deps.prices();
      if (prices !== null && prices.currency !== currency)
        return refuse("currency_mismatch", `The prices are in ${prices.currency}.`);
      const entry: LedgerEntry = { entry_id, kind, amount, currency, by, reason };
      return enteredOf(await actors.ask(ledgerRef(company), { type: "money.enter", ...entry }));
    },
    statement: async (company, month) => {
      if (!isMonth(month)) return refuse("request_invalid", `month ${monthDetail}`);
      const statement = await readStatement(actors, company, month);
      if (statement === null) return ok(null);
      const entries = statement.entries.map(({ entry_id, kind, currency, by, reason, ...entry }) => ({
        entry_id,
        kind,
        currency,
        by,
        reason,
        amount: decimal(entry.amount),
        at: formatTimestamp(entry.at_ms),
      }));
      return ok({ ...shownStatement(statement), entries });
    },
  };
}

// All accounts, for operators.
//   AC1. Of all of them, `accountsMax` are asked, a few at a time, and once for everybody who asks meanwhile: the order is that of
//        what they have now, so no page of it is read alone. One that cannot be asked now is left out, and the list is not complete.

interface ListingDeps extends Actors {
  /** Null for an unknown party. */
  readonly partyOf: (uuid: string) => Promise<Pick<PartyFacts, "kind" | "legal_name"> | null>;
  readonly actorStore: Pick<ActorStore, "listActors">;
}

const accountsMax = 2_000;
const accountsAtOnce = 16;
const accountsPage = 50;

interface Sweep {
  /** Those that run low first. */
  readonly accounts: readonly ListedAccount[];
  readonly is_complete: boolean;
}

/** AC1. */
function sweepOnce(deps: ListingDeps): () => Promise<Sweep> {
  let running: Promise<Sweep> | null = null;
  return () => {
    running ??= readAll(deps).finally(() => {
      running = null;
    });
    return running;
  };
}

async function readAll({ actors, actorStore, partyOf }: ListingDeps): Promise<Sweep> {
  const found = await actorStore.listActors("ledger", "", accountsMax + 1);
  let isAsked = true;
  const read = async (company: string) => {
    try {
      return await actors.ask(ledgerRef(company), { type: "ledger.read" });
    } catch (error) {
      if (failureAnswer(error) === null) throw error;
      isAsked = false;
      return null;
    }
  };
  const ofCompany = async (company: string): Promise<readonly ListedAccount[]> => {
    const shown = await read(company);
    if (shown === null) return [];
    const { last_top_up: paid, days_left, is_low } = shown;
    const { currency, balance, available } = accountOf(shown);
    return [
      {
        company_uuid: company,
        legal_name: (await partyOf(company))?.legal_name ?? null,
        currency,
        balance,
        available,
        used_last_day: decimal(shown.used_last_day),
        days_left,
        is_low,
        last_top_up: paid && { amount: decimal(paid.amount), at: formatTimestamp(paid.at_ms) },
      },
    ];
  };
  const reads = found.slice(0, accountsMax).map((company) => () => ofCompany(company));
  const accounts = (await new Semaphore(accountsAtOnce).all(reads)).flat().sort(byDaysLeft);
  return { accounts, is_complete: isAsked && found.length <= accountsMax };
}

function byDaysLeft(a: ListedAccount, b: ListedAccount): number {
  const [one, other] = [a.days_left ?? Number.MAX_VALUE, b.days_left ?? Number.MAX_VALUE];
  return one - other || (a.company_uuid < b.company_uuid ? -1 : 1);
}

/** The page after a company; the first where it has no account. */
function listAccounts({ accounts, is_complete }: Sweep, after: string): AccountList {
  const from = accounts.findIndex(({ company_uuid }) => company_uuid === after) + 1;
  const page = accounts.slice(from, from + accountsPage);
  const isLast = from + accountsPage >= accounts.length;
  return { accounts: page, next_after: isLast ? null : (page.at(-1)?.company_uuid ?? null), is_complete };
}

function enteredOf(reply: EnterReply): Result<Account, EntryFault> {
  switch (reply.status) {
    case "entered":
      return ok(accountOf(reply.report));
    case "conflict":
      return refuse("entry_id_used", "Another entry has this entry_id; nothing was entered.");
    case "currency_mismatch":
      return refuse(reply.status, `The account is in ${reply.currency}.`);
    case "too_large":
      return refuse("amount_not_allowed", "An account holds at most a billion.");
    case "too_many":
      return refuse("account_full", "The account takes no more entries in this month.");
  }
}

function signedMillionths(amount: string): bigint {
  return amount.startsWith("-") ? -millionthsOf(amount.slice(1)) : millionthsOf(amount);
}

/** The statement of a month with all its entries; null before the first entry of the account. */
async function readStatement(
  actors: LedgerDeps["actors"],
  company: string,
  month: string,
): Promise<MonthStatement | null> {
  const ledger = ledgerRef(company);
  const first = await actors.ask(ledger, { type: "ledger.statement", month, after: null });
  const entries: EnteredEntry[] = [...(first?.entries ?? [])];
  let after = first?.next_after ?? null;
  for (let page = 1; page < pagesMax && after !== null; page += 1) {
    const next = await actors.ask(ledger, { type: "ledger.statement", month, after });
    entries.push(...(next?.entries ?? []));
    after = next?.next_after ?? null;
  }
  // What was entered between two pages is in the list, and must be in the sum.
  const entered = entries.reduce((sum, { amount }) => sum + amount, 0);
  return first && { ...first, entries, entered, closing: first.opening + entered - first.charged };
}

/** GET /v1/statements/{month}. */
export async function answerStatement(
  { actors }: Pick<LedgerDeps, "actors">,
  {
    company,
    month,
    format,
  }: { readonly company: string; readonly month: string; readonly format: "json" | "csv" },
): Promise<Outcome> {
  if (!isMonth(month)) return invalidAt("/path/month", `month ${monthDetail}`);
  const statement = await readStatement(actors, company, month);
  if (statement === null) return noAccount;
  if (format === "json") return answerJson(200, shownStatement(statement), headers);
  const disposition = `attachment; filename="statement-${month}.csv"`;
  return {
    kind: "answer",
    status: 200,
    body: csvOf(statement),
    headers: {
      "content-type": "text/csv; charset=utf-8; header=present",
      "content-disposition": disposition,
      ...headers,
    },
  };
}

const monthDetail = "is a month of this century such as 2026-11.";

function isMonth(text: string): boolean {
  return firstFault(monthShape, text) === null;
}

const noAccount = refusedWith("not_found", "There is no account: nothing was paid in yet.");

/** Of an entry, the company sees what it changed, and not who made it. */
function shownStatement(statement: MonthStatement): StatementAnswer {
  const { currency, month, is_final } = statement;
  return {
    currency,
    month,
    is_final,
    opening: decimal(statement.opening),
    entered: decimal(statement.entered),
    charged: decimal(statement.charged),
    closing: decimal(statement.closing),
    lines: statement.lines.map(({ day, kind, collection, price, count, amount }) => ({
      day,
      kind,
      collection,
      count,
      price: decimal(price),
      amount: decimal(amount),
    })),
    entries: statement.entries.map(({ entry_id, kind, amount, at_ms }) => ({
      entry_id,
      kind,
      amount: decimal(amount),
      at: formatTimestamp(at_ms),
    })),
  };
}

/**
 * RFC 4180: one line for each opening, entry and charge, whose amounts sum to the closing, which is the last line. No field needs
 * quotes or begins with a character that a spreadsheet takes for a formula, except the sign of an amount.
 */
function csvOf(statement: MonthStatement): string {
  const { month, currency, opening, closing } = statement;
  const rows: (readonly (string | number)[])[] = [
    ["item", "day", "collection", "id", "price", "count", "amount", "currency"],
    ["opening", `${month}-01`, "", "", "", "", decimal(opening), currency],
    ...statement.entries.map(({ entry_id, kind, amount, at_ms }) => [
      kind,
      formatTimestamp(at_ms).slice(0, 10),
      "",
      entry_id,
      "",
      "",
      decimal(amount),
      currency,
    ]),
    ...statement.lines.map(({ day, kind, collection, price, count, amount }) => [
      kind,
      day,
      collection ?? "",
      "",
      decimal(price),
      count,
      decimal(-amount),
      currency,
    ]),
    ["closing", "", "", "", "", "", decimal(closing), currency],
  ];
  return rows.map((row) => `${row.join(",")}\r\n`).join("");
}

function decimal(millionths: number): string {
  return decimalOf(BigInt(millionths));
}
