// Refusals of documents about ads, with the reasons that the campaign's actor gives.

import type { AdReply, AssignAdReply } from "../actors/messages/ads.ts";
import { problem } from "../protocol/problem.ts";
import { type Refused, refused } from "./answer.ts";

export function campaignRefused(reason: string, detail: string): Refused {
  return refused(problem("campaign_refused", detail, { reason }));
}

export function notAssigned(status: Exclude<AssignAdReply["status"], "assigned">): Refused {
  const details = {
    campaign_unknown: "There is no such campaign: send its terms first.",
    deleted: "It was deleted in this campaign, and does not return to it.",
    superseded: supersededDetail,
    too_many: "The campaign has as many ads and products, or this one as many versions, as it may have.",
  } as const;
  return campaignRefused(status, details[status]);
}

export function notDone({ status }: Pick<AdReply, "status">): Refused {
  return status === "unknown"
    ? refused(problem("not_found", "No ad of this business has this id."))
    : campaignRefused("superseded", supersededDetail);
}

const supersededDetail = "A document about this ad that was sealed later was accepted.";
