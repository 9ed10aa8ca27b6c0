// The accounts of AI companies: what operators look up, and what they pay in or correct. Each entry says who made it and why, and
// is made once under its id.

import type { FastifyInstance, FastifyReply } from "fastify";
import type { Operation } from "../api/route.ts";
import { described, integer, type Of, object, uuid } from "../protocol/shape.ts";
import { campaignRenders, unusualRenders } from "../protocol/wire/ad-requests.ts";
import type { CampaignName, OperatorCampaigns } from "../service/ads/campaign-renders.ts";
import type { OperatorLedgers } from "../service/money/ledgers.ts";
import { actOf, sendProblem } from "./acts.ts";
import { act, actMembers, type Body, bodies, parameter, read, shown } from "./shapes.ts";

interface CompanyParams {
  readonly company_uuid: string;
}

/** Adds the routes. */
export function addLedgerRoutes(server: FastifyInstance, ledgers: OperatorLedgers): void {
  server.get<{ Params: CompanyParams }>("/ops/ledgers/:company_uuid", async ({ params }, reply) => {
    const account = await ledgers.account(params.company_uuid);
    return account === null ? unknown(reply) : reply.send({ account });
  });
  server.get<{ Params: CompanyParams & { month: string } }>(
    "/ops/ledgers/:company_uuid/statements/:month",
    async ({ params: { company_uuid, month } }, reply) => {
      const found = await ledgers.statement(company_uuid, month);
      if (!found.ok) return sendProblem(reply, "request_invalid", found.detail, { pointer: "/path/month" });
      return found.value === null ? unknown(reply) : reply.send({ statement: found.value });
    },
  );
  server.post<{ Params: CompanyParams; Body: Body<"ledgerEntry"> }>(
    "/ops/ledgers/:company_uuid/entries",
    { schema: { body: bodies.ledgerEntry.schema } },
    async (request, reply) => {
      const { params, body } = request;
      const entered = await ledgers.enter(params.company_uuid, { ...body, ...actOf(request) });
      if (!entered.ok)
        return entered.code === "unknown"
          ? sendProblem(reply, "not_found", entered.detail)
          : sendProblem(reply, "request_invalid", entered.detail, { reason: entered.code });
      const account = entered.value;
      reply.request.outcome = { account };
      return reply.send({ account });
    },
  );
}

function unknown(reply: FastifyReply): FastifyReply {
  return sendProblem(reply, "not_found", "Nothing was ever paid in for an AI company with this UUID.");
}

// Who rendered the ads of a campaign, what of it is unusual, and the reversal of what a company rendered.

const reverseBody = object({ company_uuid: uuid, ...actMembers });
const reversed = object({
  reversed: described(
    integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    "How many renders were reversed; 0 if all of them were before.",
  ),
});

const campaignPath = [
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
    ...campaignPath,
    parameter("query", "after", "`next_after` of the previous page."),
  ]),
  act(`${path}/reverse`, {
    summary:
      "Reverses what a company rendered of a campaign until now: the campaign has it back, and the renders count as reversed",
    body: reverseBody,
    answer: reversed,
    parameters: campaignPath,
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
