// GET /v1/usage: what an AI company used in this region, counted from its receipts (specification, «Retrieval API», other
// retrieval reads).
//   U1. The counts are those of the receipts that the same region lists, to the last one (T7 of storage/receipt-store.ts).
//   U2. A company reads its own usage, of all of its keys; reading it is not billed and has no receipt.

import type { Clock } from "../crypto/port.ts";
import { firstFault } from "../protocol/shape.ts";
import {
  type UsageAnswer,
  type UsageGroup,
  type UsageLine,
  usageGrouping,
  usageGroups,
  usageLinesMax,
} from "../protocol/wire/receipts.ts";
import type { ReceiptStore } from "../storage/receipt-store.ts";
import type { UsageCount } from "../storage/receipt-usage.ts";
import { isWrong, parseWindow, wrong } from "./analytics-window.ts";
import { answerJson, type Outcome } from "./answer.ts";
import type { Caller } from "./caller.ts";

export interface UsageDeps {
  readonly store: Pick<ReceiptStore, "readUsage">;
  readonly region: string;
  readonly clock: Pick<Clock, "now">;
}

export interface UsageRequest {
  readonly caller: Caller;
  /** The query parameters; null for one that is absent. */
  readonly query: {
    readonly from: string | null;
    readonly to: string | null;
    readonly group_by: string | null;
  };
}

export type ReadUsage = (request: UsageRequest) => Promise<Outcome>;

/** Days in one answer. */
export const usageDaysMax = 92;

const headers = Object.freeze({ "cache-control": "no-store" });

export async function readUsage(
  { store, region, clock }: UsageDeps,
  { caller, query }: UsageRequest,
): Promise<Outcome> {
  const window = parseWindow(query, clock.now(), usageDaysMax);
  if (isWrong(window)) return window;
  const groups = query.group_by === null ? usageGroups : parseGroups(query.group_by);
  if (groups === null)
    return wrong(
      "group_by",
      `group_by must be one or more of ${usageGroups.join(", ")}, with commas, each once.`,
    );
  const { from, to, last } = window;
  const counts = await store.readUsage({ region, company: caller.party.uuid, fromDay: from, toDay: last });
  const usage = grouped(counts, groups);
  if (usage.length > usageLinesMax)
    return wrong(
      "group_by",
      `These are more than ${usageLinesMax} lines: ask for fewer days, or group by less.`,
    );
  const [total = nothing] = grouped(counts, []);
  const answer: UsageAnswer = { from, to, region, usage, total };
  return answerJson(200, answer, headers);
}

const nothing = { requests: 0, billable: 0, rows: 0 };

function parseGroups(text: string): readonly UsageGroup[] | null {
  if (firstFault(usageGrouping, text) !== null) return null;
  return usageGroups.filter((each) => text.split(",").includes(each));
}

/** Adds up what the groups do not tell apart, in ascending order of what they do. */
function grouped(counts: readonly UsageCount[], groups: readonly UsageGroup[]): readonly UsageLine[] {
  const lines = new Map<string, UsageLine>();
  for (const each of counts) {
    const of = Object.fromEntries(groups.map((group) => [memberOf[group], each[memberOf[group]]]));
    const name = groups.map((group) => each[memberOf[group]] ?? "").join(" ");
    const { requests, billable, rows } = lines.get(name) ?? nothing;
    lines.set(name, {
      ...(of as Partial<UsageLine>),
      requests: requests + each.requests,
      billable: billable + each.billable,
      rows: rows + each.rows,
    });
  }
  return [...lines].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, line]) => line);
}

const memberOf = {
  day: "day",
  key: "key_id",
  kind: "kind",
  collection: "collection",
  country: "country",
} as const satisfies Record<UsageGroup, keyof UsageCount>;
