// Who rendered the ads of a campaign, for its advertiser and for operators, who may reverse what a company rendered.
//   CR1. A reversal is decided by the campaign's actor, in one commit with the budget that it gives back; it tells nobody what that is.

import type { DayOfCompany, RendersOfCompany } from "../../actors/messages/ads.ts";
import { campaignRef, partsOf } from "../../actors/messages/refs.ts";
import type { ActorSystem, Actors } from "../../actors/system/definition.ts";
import type { Platform } from "../../crypto/port.ts";
import { formatTimestamp, isUuidV4 } from "../../protocol/identifiers.ts";
import { campaignIdForm } from "../../protocol/records/fields.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import type { CampaignRenders, UnusualRenders } from "../../protocol/wire/ad-requests.ts";
import { Semaphore } from "../../std/semaphore.ts";
import type { ActorStore } from "../../storage/actor-store.ts";
import { answerJson, type Outcome, refusedWith, wrongParameter } from "../answer.ts";

export interface CampaignName {
  readonly business_uuid: string;
  readonly campaign_id: string;
}

type Found<T> = Promise<Result<T, "unknown">>;
/** `changed` is refused where operators changed it after `expected`, the `change` that was seen. */
type Acted<T> = Promise<Result<T, "unknown" | "changed">>;
type Seen = CampaignName & { readonly expected: number };

interface CampaignReads extends Actors, Platform {
  readonly actorStore: ActorStore;
}

/** What operators see and do. */
export interface OperatorCampaigns {
  /** What is unusual of a page of campaigns. */
  unusual(after: string): Promise<UnusualRenders>;
  of(campaign: CampaignName, after: string): Found<CampaignRenders>;
  /** How many renders were reversed; none if all of them were before. */
  reverse(campaign: Seen & { readonly company_uuid: string }): Acted<{ readonly reversed: number }>;
  /** Stops a campaign and tells its advertiser why, or lets it go on where no statement is given. */
  stop(
    campaign: Seen & { readonly statement: string | null },
  ): Acted<{ readonly changed: boolean; readonly subject: CampaignRenders }>;
}

const pageMax = 100;

/** For operators: who rendered the ads of a campaign, what of it is unusual, and its reversal. */
export function createOperatorCampaigns(deps: CampaignReads): OperatorCampaigns {
  const { actors } = deps;
  return {
    unusual: (after) => readUnusualRenders(deps, after),
    of: async (campaign, after) => {
      const found = await readRenders({ actors }, campaign, after);
      return found === null ? unknown : ok(found);
    },
    reverse: async ({ company_uuid: company, expected, ...campaign }) => {
      if (!isNamed(campaign)) return unknown;
      const ref = campaignRef(campaign.business_uuid, campaign.campaign_id);
      const reply = await actors.ask(ref, { type: "renders.reverse", company, expected });
      return reply.status === "done" ? ok({ reversed: reply.renders }) : refused[reply.status];
    },
    stop: async ({ statement, expected, ...campaign }) => {
      if (!isNamed(campaign)) return unknown;
      const ref = campaignRef(campaign.business_uuid, campaign.campaign_id);
      const reply = await actors.ask(ref, { type: "campaign.stop", statement, expected });
      if (reply.status !== "done") return refused[reply.status];
      const found = await readRenders({ actors }, campaign, "");
      return found === null ? unknown : ok({ changed: reply.changed, subject: found });
    },
  };
}

const unknown = refuse("unknown", "There is no such campaign, or the company rendered nothing of it.");
const changed = refuse("changed", "Operators changed the campaign meanwhile; look at it again.");
const refused = { unknown, changed };

/** GET /v1/ads/campaigns/{campaign_id}: the caller's own campaign, with who rendered its ads. */
export async function readOwnCampaign(
  deps: Actors,
  campaign: CampaignName,
  after: string | null,
): Promise<Outcome> {
  if (after !== null && !isUuidV4(after))
    return wrongParameter("after", "`after` is the `next_after` of the previous page.");
  const found = await readRenders(deps, campaign, after ?? "");
  if (found !== null) return answerJson(200, found);
  return refusedWith("not_found", "Your business has no campaign with this id.");
}

/** Reading a campaign that was never accepted creates nothing; what cannot be the name of one is not asked for. */
function isNamed({ business_uuid, campaign_id }: CampaignName): boolean {
  return isUuidV4(business_uuid) && campaignIdForm.accepts(campaign_id);
}

async function readRenders(
  { actors }: Actors,
  campaign: CampaignName,
  after: string,
): Promise<CampaignRenders | null> {
  if (!isNamed(campaign)) return null;
  const ref = campaignRef(campaign.business_uuid, campaign.campaign_id);
  const [report, companies] = await Promise.all([
    actors.ask(ref, { type: "campaign.read" }),
    actors.ask(ref, { type: "renders.list", after }),
  ]);
  if (report === null) return null;
  const { campaign_id, state, renders, change } = report;
  const stopped = report.stopped && {
    at: formatTimestamp(report.stopped.at_ms),
    statement: report.stopped.statement,
  };
  const next_after = companies.length === pageMax ? (companies.at(-1)?.company ?? null) : null;
  return { campaign_id, state, stopped, change, renders, companies: companies.map(shown), next_after };
}

function shown({
  company,
  renders,
  reversed,
  clicks,
  last_at_ms,
}: RendersOfCompany): CampaignRenders["companies"][number] {
  return { company_uuid: company, renders, reversed, clicks, last_rendered_at: formatTimestamp(last_at_ms) };
}

// Companies whose renders or clicks of a campaign are unusual, for operators: a reason to look, which changes nothing by itself.
//   UR1. A day's count is unusual if it is above a least one, and more than three times what is usual: the mean of the company's own
//        days of the week before on which it had any; without such a day, the mean of the other companies of the campaign on that day.
//        Where neither has any, nothing is usual, and a count is unusual above half of the renders that the day allows a company.
//   UR2. A page reads a bounded number of campaigns, and all companies of each.

type Unusual = UnusualRenders["unusual"][number];

const dayMs = 86_400_000;
const campaignsPerPage = 100;
const companiesPerPage = 100;
const campaignsAtOnce = 8;
const timesUsual = 3;
/** Fewer on a day are never unusual (UR1). */
const least = { renders: 20, clicks: 10 } as const;
const kinds = ["renders", "clicks"] as const;

/** Of today and yesterday (UTC), in the order of campaigns. */
export async function readUnusualRenders(deps: CampaignReads, after: string): Promise<UnusualRenders> {
  const { actors, actorStore, clock } = deps;
  const today = Math.floor(clock.now() / dayMs);
  const ids = await actorStore.listActors("ad-campaign", after, campaignsPerPage);
  const ofCampaign = async (id: string): Promise<readonly Unusual[]> => {
    const { party: business_uuid, own: campaign_id } = partsOf(id);
    const [companies, report] = await Promise.all([
      companiesOf(actors, id),
      actors.ask({ kind: "ad-campaign", id }, { type: "campaign.read" }),
    ]);
    if (report === null) return [];
    return [today, today - 1].flatMap((day) =>
      unusualOn(day, companies, report.company_day_max).map((found) => ({
        business_uuid,
        campaign_id,
        ...found,
      })),
    );
  };
  const found = await new Semaphore(campaignsAtOnce).all(ids.map((id) => () => ofCampaign(id)));
  return { unusual: found.flat(), next_after: ids.length < campaignsPerPage ? null : (ids.at(-1) ?? null) };
}

async function companiesOf(actors: ActorSystem, id: string): Promise<readonly RendersOfCompany[]> {
  const companies: RendersOfCompany[] = [];
  for (let after = ""; ; ) {
    const page = await actors.ask({ kind: "ad-campaign", id }, { type: "renders.list", after });
    companies.push(...page);
    if (page.length < companiesPerPage) return companies;
    after = page.at(-1)?.company ?? "";
  }
}

type Counted = Pick<RendersOfCompany, "company" | "days">;

/** @internal for tests: what is unusual of a campaign on a day (UR1). */
export function unusualOn(
  day: number,
  companies: readonly Counted[],
  companyDayMax: number,
): readonly Omit<Unusual, "business_uuid" | "campaign_id">[] {
  return companies.flatMap(({ company, days }) =>
    kinds.flatMap((kind) => {
      const count = countOn(day, days, kind);
      if (count < least[kind]) return [];
      const earlier = days.filter((each) => each.day < day && each.day >= day - 7).map((each) => each[kind]);
      const others = companies.filter((each) => each.company !== company);
      const usual = meanOf(earlier) ?? meanOf(others.map((each) => countOn(day, each.days, kind)));
      if (count <= (usual === null ? companyDayMax / 2 : timesUsual * usual)) return [];
      const date = new Date(day * dayMs).toISOString().slice(0, 10);
      return [{ company_uuid: company, day: date, of: kind, count, usual: Math.round(usual ?? 0) }];
    }),
  );
}

function countOn(day: number, days: readonly DayOfCompany[], kind: (typeof kinds)[number]): number {
  return days.find((each) => each.day === day)?.[kind] ?? 0;
}

/** Of those that have any; null if none has. */
function meanOf(counts: readonly number[]): number | null {
  const some = counts.filter((count) => count > 0);
  return some.length === 0 ? null : some.reduce((sum, count) => sum + count, 0) / some.length;
}
