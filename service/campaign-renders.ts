// Who rendered the ads of a campaign, for its advertiser and for operators, who may reverse what a company rendered.
//   CR1. A reversal is decided by the campaign's actor, in one commit with the budget that it gives back; it tells nobody what that is.

import type { RendersOfCompany } from "../actors/messages/ads.ts";
import { campaignRef } from "../actors/messages/refs.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import { formatTimestamp, isUuidV4 } from "../protocol/identifiers.ts";
import { problem } from "../protocol/problem.ts";
import { campaignIdForm } from "../protocol/records/fields.ts";
import { ok, type Result, refuse } from "../protocol/result.ts";
import type { CampaignRenders, UnusualRenders } from "../protocol/wire/ad-requests.ts";
import { answerJson, type Outcome, refused } from "./answer.ts";
import { readUnusualRenders, type UnusualRendersDeps } from "./unusual-renders.ts";

export interface CampaignRendersDeps {
  readonly actors: Pick<ActorSystem, "ask">;
}

export interface CampaignName {
  readonly business_uuid: string;
  readonly campaign_id: string;
}

type Found<T> = Promise<Result<T, "unknown">>;

/** What operators see and do. */
export interface OperatorCampaigns {
  /** What is unusual of a page of campaigns. */
  unusual(after: string): Promise<UnusualRenders>;
  of(campaign: CampaignName, after: string): Found<CampaignRenders>;
  /** How many renders were reversed; none if all of them were before. */
  reverse(campaign: CampaignName & { readonly company_uuid: string }): Found<{ readonly reversed: number }>;
}

const pageMax = 100;

export function createOperatorCampaigns(deps: CampaignRendersDeps & UnusualRendersDeps): OperatorCampaigns {
  const { actors } = deps;
  return {
    unusual: (after) => readUnusualRenders(deps, after),
    of: async (campaign, after) => {
      const found = await readRenders({ actors }, campaign, after);
      return found === null ? unknown : ok(found);
    },
    reverse: async ({ company_uuid: company, ...campaign }) => {
      if (!isNamed(campaign)) return unknown;
      const ref = campaignRef(campaign.business_uuid, campaign.campaign_id);
      const reply = await actors.ask(ref, { type: "renders.reverse", company });
      return reply.status === "done" ? ok({ reversed: reply.renders }) : unknown;
    },
  };
}

const unknown = refuse("unknown", "There is no such campaign, or the company rendered nothing of it.");

/** GET /v1/ads/campaigns/{campaign_id}: the caller's own campaign, with who rendered its ads. */
export async function readOwnCampaign(
  deps: CampaignRendersDeps,
  campaign: CampaignName,
  after: string | null,
): Promise<Outcome> {
  if (after !== null && !isUuidV4(after))
    return refused(
      problem("request_invalid", "`after` is the `next_after` of the previous page.", {
        pointer: "/query/after",
      }),
    );
  const found = await readRenders(deps, campaign, after ?? "");
  if (found !== null) return answerJson(200, found);
  return refused(problem("not_found", "Your business has no campaign with this id."));
}

/** Reading a campaign that was never accepted creates nothing; what cannot be the name of one is not asked for. */
function isNamed({ business_uuid, campaign_id }: CampaignName): boolean {
  return isUuidV4(business_uuid) && campaignIdForm.accepts(campaign_id);
}

async function readRenders(
  { actors }: CampaignRendersDeps,
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
  const { campaign_id, state, renders } = report;
  const next_after = companies.length === pageMax ? (companies.at(-1)?.company ?? null) : null;
  return { campaign_id, state, renders, companies: companies.map(shown), next_after };
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
