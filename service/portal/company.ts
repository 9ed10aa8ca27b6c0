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
import { bodyText, type Outcome } from "../answer.ts";
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
    readonly format: "json";
  }) => Promise<Outcome>;
}

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

/** Which receipts are shown; an empty text leaves the choice open. */
export interface ReceiptFilter {
  readonly day: string;
  readonly key_id: string;
  readonly cursor: string;
}

export interface Company {
  /** For somebody who has a role in it. */
  state(uuid: string): Promise<CompanyState>;
  /** Those in force, or of a version; null where there are none. */
  terms(uuid: string, version?: string): Promise<TermsAnswer | null>;
  /** By day and key, from a day until before another; an empty text leaves the choice open. */
  usage(
    uuid: string,
    days: { readonly from: string; readonly to: string },
  ): Promise<Result<UsageAnswer, "not_accepted">>;
  receipts(uuid: string, filter: ReceiptFilter): Promise<Result<ReceiptsAnswer, "not_accepted">>;
  choose(who: SignedIn, asked: { readonly uuid: string; readonly listed: boolean }): Agreed;
  agree(
    who: SignedIn,
    asked: { readonly uuid: string; readonly version: number; readonly sha256: string },
  ): Agreed;
}

type Agreed = Promise<Result<void, OwnerRefusal>>;

const dayMs = 86_400_000;

export function createCompany({ owner, parties, reads, clock }: CompanyDeps): Company {
  const termsOf = async (uuid: string, version: string | null = null): Promise<TermsAnswer | null> =>
    answered<TermsAnswer>(await reads.terms({ caller: { party: { uuid } }, version }));
  const usageOf = (uuid: string, days: { readonly from: string | null; readonly to: string | null }) =>
    reads.usage({ caller: { party: { uuid } }, query: { ...days, group_by: "day,key" } });
  return {
    terms: termsOf,
    state: async (uuid) => {
      const month = new Date(clock.now()).toISOString().slice(0, 7);
      const [party, terms, account, statement, usage] = await Promise.all([
        parties.party(uuid),
        termsOf(uuid),
        reads.allowance(uuid),
        reads.statement({ company: uuid, month, format: "json" }),
        usageOf(uuid, { from: `${month}-01`, to: null }),
      ]);
      return {
        listed: party?.listed === true,
        group: party?.group ?? null,
        entries: answered<StatementAnswer>(statement)?.entries.toReversed() ?? [],
        terms,
        account: needed(answered<AllowanceAnswer>(account)),
        usage: needed(answered<UsageAnswer>(usage)),
      };
    },
    usage: async (uuid, { from, to }) => {
      const outcome = await usageOf(uuid, { from: from === "" ? null : from, to: to === "" ? null : to });
      const found = answered<UsageAnswer>(outcome);
      return found === null ? refuse("not_accepted", refusalIn(outcome)) : ok(found);
    },
    receipts: async (uuid, { day, key_id, cursor }) => {
      const from = day === "" ? new Date(clock.now()).toISOString().slice(0, 10) : day;
      const to = new Date(Date.parse(from) + dayMs);
      const query = {
        from,
        to: Number.isNaN(to.getTime()) ? from : to.toISOString(),
        key_id: key_id === "" ? null : key_id,
        cursor: cursor === "" ? null : cursor,
        limit: null,
        retrieval_id: null,
      };
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
