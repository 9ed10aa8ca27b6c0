// What people of an AI company read and do at the portal: its terms, its listing, what it used and what is left.
//   PC1. What is shown is what the company's own keys read at the retrieval surface of this region, by the same functions.
//   PC2. The company's actor is asked for the person's role at every act (PO1 in owner.ts). Everybody with a role reads; who binds the company
//        agrees to terms and chooses whether it is listed.

import { bindingRoles } from "../../actors/messages/members.ts";
import type { Platform } from "../../crypto/port.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import type { AllowanceAnswer, StatementAnswer } from "../../protocol/wire/allowance.ts";
import type { ReceiptsAnswer, UsageAnswer } from "../../protocol/wire/receipts.ts";
import type { TermsAnswer } from "../../protocol/wire/terms.ts";
import { type Answer, bodyText, type Outcome } from "../answer.ts";
import type { Parties } from "../register/parties.ts";
import type { agreeTo, ReadTerms } from "../register/terms.ts";
import type { ReadOwnReceipts, ReadUsage } from "../retrieval/own-receipts.ts";
import { actOf, type Owner, type OwnerRefusal } from "./owner.ts";
import type { SignedIn } from "./people.ts";

/** What the retrieval surface answers a company's keys of their company. */
export interface CompanyReads {
  readonly terms: ReadTerms;
  readonly agree: (agreed: Parameters<typeof agreeTo>[1]) => Promise<Outcome>;
  readonly usage: ReadUsage;
  readonly receipts: ReadOwnReceipts;
  readonly allowance: (company: string) => Promise<Outcome>;
  readonly statement: (asked: {
    readonly company: string;
    readonly month: string;
    readonly format: StatementFormat;
  }) => Promise<Outcome>;
}

export type StatementFormat = "json" | "csv";

export interface CompanyDeps extends Pick<Platform, "clock"> {
  readonly owner: Pick<Owner, "may">;
  readonly parties: Pick<Parties, "party" | "setListed">;
  readonly reads: CompanyReads;
}

export interface CompanyState {
  readonly listed: boolean;
  /** Null for a party that was never opened. */
  readonly group: string | null;
  /** Those in force; null where there are none. */
  readonly terms: TermsAnswer | null;
  readonly account: AllowanceAnswer;
  /** What was paid in and corrected this month, the newest first. */
  readonly entries: StatementAnswer["entries"];
  /** Of this month, by day and key. */
  readonly usage: UsageAnswer;
}

/** Which receipts are shown; an empty text leaves the choice open. One that is named is of a retrieval, and nothing else is chosen. */
export interface ReceiptFilter {
  readonly from: string;
  readonly to: string;
  readonly key_id: string;
  readonly retrieval_id: string;
  readonly cursor: string;
}

/** Statements of a year, the newest first; of the last one in which there was something. */
export interface StatementYear {
  /** Those of months in which there was something. */
  readonly statements: readonly StatementAnswer[];
  /** The last month of the year before; null where nothing can be. */
  readonly earlier: string | null;
}

export interface Company {
  /** For somebody who has a role in it. */
  state(uuid: string): Promise<CompanyState>;
  /** Those in force, or of a version; null where there are none. */
  terms(uuid: string, version?: string): Promise<TermsAnswer | null>;
  /** From a day until before another, an empty text leaves the choice open; told apart by {@link usageGroups} with commas. */
  usage(
    uuid: string,
    asked: { readonly from: string; readonly to: string; readonly group_by: string },
  ): Promise<Result<UsageAnswer, "not_accepted">>;
  /** Null before the first payment, and for what is not a month. */
  statement(uuid: string, month: string): Promise<StatementAnswer | null>;
  /** Up to a month; null as {@link statement} is. */
  statements(uuid: string, until: string | null): Promise<StatementYear | null>;
  /** The exact bytes that the company's keys are answered; null as {@link statement} is. */
  statementFile(uuid: string, month: string, format: StatementFormat): Promise<Answer | null>;
  receipts(uuid: string, filter: ReceiptFilter): Promise<Result<ReceiptsAnswer, "not_accepted">>;
  choose(who: SignedIn, asked: { readonly uuid: string; readonly listed: boolean }): Agreed;
  agree(
    who: SignedIn,
    asked: { readonly uuid: string; readonly version: number; readonly sha256: string },
  ): Agreed;
}

type Agreed = Promise<Result<void, OwnerRefusal>>;

const monthsShown = 12;
/** How many years are looked through for one in which there was something. */
const yearsMax = 10;

/** What people of an AI company read and do. Its methods throw {@link StoreError}. */
export function createCompany({ owner, parties, reads, clock }: CompanyDeps): Company {
  const termsOf = async (uuid: string, version: string | null = null): Promise<TermsAnswer | null> =>
    answered<TermsAnswer>(await reads.terms({ caller: { party: { uuid } }, version }));
  const usageOf = (
    uuid: string,
    query: { readonly from: string | null; readonly to: string | null; readonly group_by: string },
  ) => reads.usage({ caller: { party: { uuid } }, query });
  const monthNow = () => new Date(clock.now()).toISOString().slice(0, 7);
  const statement = async (company: string, month: string) =>
    answered<StatementAnswer>(await reads.statement({ company, month, format: "json" }));
  return {
    terms: termsOf,
    statement,
    statements: async (uuid, until) => {
      const newest = until ?? monthNow();
      // Whether there is an account, and this is a month.
      if ((await statement(uuid, newest)) === null) return null;
      // An account may have rested for years with nothing in it.
      for (let years = 0; years < yearsMax; years += 1) {
        const last = monthBefore(newest, years * monthsShown);
        const months = Array.from({ length: monthsShown }, (_, at) => monthBefore(last, at));
        const found = await Promise.all(months.map((month) => statement(uuid, month)));
        const statements = found.filter((each) => each !== null).filter((each) => !isEmpty(each));
        if (statements.length === 0) continue;
        return { statements, earlier: found.at(-1) == null ? null : monthBefore(last, monthsShown) };
      }
      return { statements: [], earlier: null };
    },
    statementFile: async (company, month, format) => {
      const outcome = await reads.statement({ company, month, format });
      return outcome.kind === "answer" ? outcome : null;
    },
    state: async (uuid) => {
      const month = monthNow();
      const [party, terms, account, ofMonth, usage] = await Promise.all([
        parties.party(uuid),
        termsOf(uuid),
        reads.allowance(uuid),
        statement(uuid, month),
        usageOf(uuid, { from: `${month}-01`, to: null, group_by: "day,key" }),
      ]);
      return {
        listed: party?.listed === true,
        group: party?.group ?? null,
        entries: ofMonth?.entries.toReversed() ?? [],
        terms,
        account: needed(answered<AllowanceAnswer>(account)),
        usage: needed(answered<UsageAnswer>(usage)),
      };
    },
    usage: async (uuid, { from, to, group_by }) => {
      const outcome = await usageOf(uuid, { from: given(from), to: given(to), group_by });
      const found = answered<UsageAnswer>(outcome);
      return found === null ? refuse("not_accepted", refusalIn(outcome)) : ok(found);
    },
    receipts: async (uuid, { from, to, key_id, retrieval_id, cursor }) => {
      const today = new Date(clock.now()).toISOString().slice(0, 10);
      const query =
        retrieval_id === ""
          ? {
              from: given(from) ?? today,
              to: given(to),
              key_id: given(key_id),
              cursor: given(cursor),
              limit: null,
              retrieval_id: null,
            }
          : { from: null, to: null, key_id: null, cursor: null, limit: null, retrieval_id };
      const outcome = await reads.receipts({ caller: { party: { uuid } }, query });
      const found = answered<ReceiptsAnswer>(outcome);
      return found === null ? refuse("not_accepted", refusalIn(outcome)) : ok(found);
    },
    choose: async (who, { uuid, listed }) => {
      const allowed = await owner.may(who, uuid, bindingRoles);
      if (!allowed.ok) return allowed;
      await parties.setListed({ uuid, listed, act: actOf(who, "Chosen at the portal.") });
      return ok(undefined);
    },
    agree: async (who, { uuid, version, sha256 }) => {
      const allowed = await owner.may(who, uuid, bindingRoles);
      if (!allowed.ok) return allowed;
      const act = actOf(who, `version ${version}, ${sha256}, confirmed at the portal`);
      const outcome = await reads.agree({ uuid, version, sha256, act });
      return outcome.kind === "answer" ? ok(undefined) : refuse("not_accepted", refusalIn(outcome));
    },
  };
}

function given(text: string): string | null {
  return text === "" ? null : text;
}

/** The month so many months before another, both as 2026-11. */
function monthBefore(month: string, count: number): string {
  const [year = 0, number = 1] = month.split("-").map(Number);
  return new Date(Date.UTC(year, number - 1 - count)).toISOString().slice(0, 7);
}

function isEmpty({ opening, entered, charged, entries, lines }: StatementAnswer): boolean {
  return opening === "0" && entered === "0" && charged === "0" && entries.length + lines.length === 0;
}

/** What was answered; null for a refusal. */
function answered<T>(outcome: Outcome): T | null {
  return outcome.kind === "answer" ? (JSON.parse(bodyText(outcome.body)) as T) : null;
}

function needed<T>(answer: T | null): T {
  if (answer === null) throw new Error("What is read of every company was refused.");
  return answer;
}

function refusalIn(outcome: Outcome): string {
  return outcome.kind === "problem" ? outcome.problem.detail : "";
}
