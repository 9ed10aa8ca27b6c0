// What a business reads of what others do with what it published: takedowns by operators, deletions that wait for them, and who rendered
// its ads. The specification names no such reads; they are the service's own.

import { isHash } from "../../protocol/identifiers.ts";
import { campaignRenders } from "../../protocol/wire/ad-requests.ts";
import { heldDeletionsAnswer, takedownsAnswer } from "../../protocol/wire/removal.ts";
import type { CampaignName } from "../../service/ads/campaign-renders.ts";
import { type Outcome, wrongParameter } from "../../service/answer.ts";
import { parameter } from "../public-read.ts";
import { answeredWith, inPath, inQuery, type Route, type RouteDoc, sandboxKey } from "../route.ts";
import { businessRead, type Callers } from "../signed.ts";

export interface ServiceActReads {
  takedowns(businessUuid: string): Promise<Outcome>;
  heldDeletions(businessUuid: string, after: string | null): Promise<Outcome>;
  campaign(campaign: CampaignName, after: string | null): Promise<Outcome>;
}

const after = inQuery("after", "`next_after` of the previous page.", { type: "string" });

const takedownsDoc: RouteDoc = {
  summary: "What the service's operators took out of serving of yours, and why",
  description:
    "A record that was taken down, or all records of a business, are found by no search, fetch or ad pool, and leave your catalogue, until the takedown is lifted. Nothing else changes: seals stay valid, and what you publish, withdraw or delete meanwhile counts from then on.",
  parameters: [sandboxKey],
  answers: answeredWith("All of them", takedownsAnswer),
};

const heldDeletionsDoc: RouteDoc = {
  summary: "Your deletions that wait or waited for an operator",
  description:
    "A deletion that is received after the certificate was revoked for compromise waits, because a thief of the keys may have sealed it. Until an operator releases it, the record stays as it is; a withdrawal takes it out of serving at once.",
  parameters: [sandboxKey, after],
  answers: answeredWith("A page of 100", heldDeletionsAnswer),
  problems: ["request_invalid"],
};

const campaignDoc: RouteDoc = {
  summary: "A campaign of yours, with who rendered its ads",
  description:
    "How often each AI company confirmed a render, and how many of these operators reversed. Prices and budgets are in no answer.",
  parameters: [
    sandboxKey,
    inPath("campaign_id", "Your own name of the campaign.", { type: "string" }),
    after,
  ],
  answers: answeredWith("The campaign, and a page of 100 companies", campaignRenders),
  problems: ["request_invalid", "not_found"],
};

/** What a business reads of the operators' acts on it: takedowns, and confirmations that it may need. */
export function serviceActRoutes(callers: Callers, reads: ServiceActReads): readonly Route[] {
  return [
    businessRead(callers, "/v1/takedowns", takedownsDoc, [], ({ authenticated }) =>
      reads.takedowns(authenticated.caller.party.uuid),
    ),
    businessRead(
      callers,
      "/v1/held-deletions",
      heldDeletionsDoc,
      ["after"],
      async ({ authenticated, query: { after } }) =>
        after === null || isHash(after)
          ? reads.heldDeletions(authenticated.caller.party.uuid, after)
          : afterMalformed,
    ),
    businessRead(
      callers,
      "/v1/ads/campaigns/:campaign_id",
      campaignDoc,
      ["after"],
      ({ authenticated, request, query }) => {
        const business_uuid = authenticated.caller.party.uuid;
        return reads.campaign({ business_uuid, campaign_id: parameter(request, "campaign_id") }, query.after);
      },
    ),
  ];
}

const afterMalformed = wrongParameter("after", "`after` is the `next_after` of the previous page.");
