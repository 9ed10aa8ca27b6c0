// Who rendered the ads of a campaign, what of it is unusual, and the reversal of what a company rendered.

import type { FastifyInstance } from "fastify";
import type { Operation } from "../api/route.ts";
import { described, integer, type Of, object, uuid } from "../protocol/shape.ts";
import { campaignRenders, unusualRenders } from "../protocol/wire/ad-requests.ts";
import type { CampaignName, OperatorCampaigns } from "../service/campaign-renders.ts";
import { act, parameter, read, shown } from "./operation-docs.ts";
import { sendProblem } from "./reply.ts";
import { actMembers } from "./shapes.ts";

const reverseBody = object({ company_uuid: uuid, ...actMembers });
const reversed = object({
  reversed: described(
    integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    "How many renders were reversed; 0 if all of them were before.",
  ),
});

const named = [
  parameter("path", "business_uuid", "UUID of the advertiser."),
  parameter("path", "campaign_id", "The advertiser's own name of the campaign."),
];
const listPath = "/ops/campaigns";
const path = `${listPath}/:business_uuid/:campaign_id`;

export const campaignOperations: readonly Operation[] = [
  read(
    listPath,
    "Companies whose renders or clicks of a campaign are unusual, 100 campaigns a page",
    unusualRenders,
    {
      parameters: [parameter("query", "after", "`next_after` of the previous page.")],
    },
  ),
  shown(path, "campaign", campaignRenders, [
    ...named,
    parameter("query", "after", "`next_after` of the previous page."),
  ]),
  act(`${path}/reverse`, {
    summary:
      "Reverses what a company rendered of a campaign until now: the campaign has it back, and the renders count as reversed",
    ...{ body: reverseBody, answer: reversed, parameters: named },
  }),
];

const afterQuery = {
  type: "object",
  properties: { after: { type: "string", maxLength: 256 } },
  additionalProperties: false,
} as const;
const paged = { schema: { querystring: afterQuery } };

/** Adds the routes. */
export function addCampaignRoutes(server: FastifyInstance, campaigns: OperatorCampaigns): void {
  server.get<{ Querystring: { after?: string } }>(listPath, paged, async (request) =>
    campaigns.unusual(request.query.after ?? ""),
  );
  server.get<{ Params: CampaignName; Querystring: { after?: string } }>(
    path,
    paged,
    async (request, reply) => {
      const found = await campaigns.of(request.params, request.query.after ?? "");
      return found.ok ? { campaign: found.value } : sendProblem(reply, "not_found", found.detail);
    },
  );
  server.post<{ Params: CampaignName; Body: Of<typeof reverseBody> }>(
    `${path}/reverse`,
    { schema: { body: reverseBody.schema } },
    async (request, reply) => {
      const { company_uuid } = request.body;
      const done = await campaigns.reverse({ ...request.params, company_uuid });
      if (!done.ok) return sendProblem(reply, "not_found", done.detail);
      request.outcome = { company_uuid, ...done.value };
      return done.value;
    },
  );
}
