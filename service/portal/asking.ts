// Who asks for what a business publishes, and what for: what its keys read at the business surface, by the same functions.

import { ok, type Result, refuse } from "../../protocol/result.ts";
import type { DailyAnalytics, Demand, WhoIsAsking } from "../../protocol/wire/analytics.ts";
import { type Outcome as Answered, bodyText, isRefused } from "../answer.ts";
import type { AnalyticsRequest } from "../retrieval/analytics.ts";

type Read = (request: AnalyticsRequest) => Promise<Answered>;

export interface AskingReads {
  readonly daily: Read;
  readonly whoIsAsking: Read;
  readonly demand: Read;
}

/** What is shown; an empty text leaves the choice open. */
export interface AskingFilter {
  readonly from: string;
  readonly to: string;
  readonly country: string;
  readonly type: string;
}

export interface Asking {
  readonly daily: DailyAnalytics;
  readonly who: WhoIsAsking;
  /** What was asked for, or why that is not shown. */
  readonly demand: Result<Demand, "not_accepted">;
}

interface AskedFor {
  readonly uuid: string;
  readonly filter: AskingFilter;
  /** Subjects are of one country and type. */
  readonly demandOf: Pick<AskingFilter, "country" | "type">;
}

/** For somebody who has a role in the business. */
export async function readAsking(
  reads: AskingReads,
  { uuid, filter, demandOf }: AskedFor,
): Promise<Result<Asking, "not_accepted">> {
  const given = (text: string) => (text === "" ? null : text);
  const { from, to, country, type } = filter;
  const window = { from: given(from), to: given(to) };
  const caller = { party: { uuid } };
  const shown = { caller, query: { ...window, country: given(country), type: given(type) } };
  const [daily, asking, demand] = await Promise.all([
    reads.daily(shown),
    reads.whoIsAsking(shown),
    reads.demand({ caller, query: { ...window, ...demandOf } }),
  ]);
  const [days, companies] = [answered<DailyAnalytics>(daily), answered<WhoIsAsking>(asking)];
  if (!days.ok) return days;
  if (!companies.ok) return companies;
  return ok({ daily: days.value, who: companies.value, demand: answered<Demand>(demand) });
}

function answered<T>(outcome: Answered): Result<T, "not_accepted"> {
  return isRefused(outcome)
    ? refuse("not_accepted", outcome.problem.detail)
    : ok(JSON.parse(bodyText(outcome.body)) as T);
}
