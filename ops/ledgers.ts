// The accounts of AI companies: what operators look up, and what they pay in or correct. Each entry says who made it and why, and
// is made once under its id.

import type { FastifyReply } from "fastify";
import { described, integer, object, uuid } from "../protocol/shape.ts";
import { campaignRenders, unusualRenders } from "../protocol/wire/ad-requests.ts";
import type { OperatorCampaigns } from "../service/ads/campaign-renders.ts";
import type { OperatorLedgers } from "../service/money/ledgers.ts";
import { actOf, sendProblem } from "./acts.ts";
import {
  act,
  afterPage,
  type OpsRoute,
  parameter,
  problemOf,
  problemsOfSeen,
  read,
  tellChanged,
} from "./route.ts";
import {
  account,
  accountList,
  actMembers,
  bodies,
  changed,
  expected,
  operatorStatement,
  plainText,
  reasonLengthMax,
  under,
} from "./shapes.ts";

const company = parameter("path", "company_uuid", "UUID of an AI company.");

export function ledgerRoutes(ledgers: OperatorLedgers): readonly OpsRoute[] {
  return [
    read(
      "/ops/ledgers",
      {
        summary: "The accounts of AI companies, those that run low first, 50 a page",
        answer: accountList,
        parameters: [{ ...afterPage, schema: { type: "string", maxLength: 36 } }],
      },
      async ({ query: { after = "" } }) => ledgers.list(after),
    ),
    read(
      "/ops/ledgers/:company_uuid",
      {
        summary: "The account as it is now",
        answer: under("account", account),
        parameters: [company],
        problems: ["not_found"],
      },
      async ({ params }, reply) => {
        const found = await ledgers.account(params.company_uuid);
        return found === null ? unknown(reply) : { account: found };
      },
    ),
    read(
      "/ops/ledgers/:company_uuid/statements/:month",
      {
        summary: "Statement of a month, with who made each entry and why",
        answer: under("statement", operatorStatement),
        parameters: [company, parameter("path", "month", "A month such as 2026-11.")],
        problems: ["not_found"],
      },
      async ({ params: { company_uuid, month } }, reply) => {
        const found = await ledgers.statement(company_uuid, month);
        if (!found.ok) return sendProblem(reply, "request_invalid", found.detail, { pointer: "/path/month" });
        return found.value === null ? unknown(reply) : { statement: found.value };
      },
    ),
    act(
      "/ops/ledgers/:company_uuid/entries",
      {
        summary: "Pays in, or corrects the account of an AI company",
        body: bodies.ledgerEntry,
        answer: under("account", account),
        parameters: [company],
      },
      async (request, reply) => {
        const { params, body } = request;
        const entered = await ledgers.enter(params.company_uuid, { ...body, ...actOf(request) });
        if (!entered.ok)
          return entered.code === "unknown"
            ? sendProblem(reply, "not_found", entered.detail)
            : sendProblem(reply, "request_invalid", entered.detail, { reason: entered.code });
        reply.request.outcome = { account: entered.value };
        return { account: entered.value };
      },
    ),
  ];
}

function unknown(reply: FastifyReply): FastifyReply {
  return sendProblem(reply, "not_found", "Nothing was ever paid in for an AI company with this UUID.");
}

// Who rendered the ads of a campaign, what of it is unusual, the reversal of what a company rendered, and the stop of a campaign.

const reverseBody = object({ company_uuid: uuid, expected, ...actMembers });
const resumeBody = object({ expected, ...actMembers });
const stopBody = object({
  statement: plainText(reasonLengthMax, "What the advertiser is told."),
  expected,
  ...actMembers,
});
const reversed = object({
  reversed: described(
    integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    "How many renders were reversed; 0 if all of them were before.",
  ),
});

const campaignNames = [
  parameter("path", "business_uuid", "UUID of the advertiser."),
  parameter("path", "campaign_id", "The advertiser's own name of the campaign."),
];
const afterCampaign = { ...afterPage, schema: { type: "string", maxLength: 256 } };

export function campaignRoutes(campaigns: OperatorCampaigns): readonly OpsRoute[] {
  return [
    read(
      "/ops/campaigns",
      {
        summary: "Companies whose renders or clicks of a campaign are unusual, 100 campaigns a page",
        answer: unusualRenders,
        parameters: [afterCampaign],
      },
      async ({ query: { after = "" } }) => campaigns.unusual(after),
    ),
    read(
      "/ops/campaigns/:business_uuid/:campaign_id",
      {
        summary: "The campaign as it is now",
        answer: under("campaign", campaignRenders),
        parameters: [...campaignNames, afterCampaign],
        problems: ["not_found"],
      },
      async ({ params, query: { after = "" } }, reply) => {
        const found = await campaigns.of(params, after);
        return found.ok ? { campaign: found.value } : sendProblem(reply, "not_found", found.detail);
      },
    ),
    act(
      "/ops/campaigns/:business_uuid/:campaign_id/reverse",
      {
        summary:
          "Reverses what a company rendered of a campaign until now: the campaign has it back, and the renders count as reversed",
        body: reverseBody,
        answer: reversed,
        parameters: campaignNames,
        problems: problemsOfSeen,
      },
      async (request, reply) => {
        const { company_uuid, expected: seen } = request.body;
        const done = await campaigns.reverse({ ...request.params, company_uuid, expected: seen });
        if (!done.ok) return sendProblem(reply, problemOf[done.code], done.detail);
        request.outcome = { company_uuid, ...done.value };
        return done.value;
      },
    ),
    act(
      "/ops/campaigns/:business_uuid/:campaign_id/stop",
      {
        summary: "Stops a campaign, and tells its advertiser why: nothing of it is served or rendered",
        body: stopBody,
        answer: changed("campaign", campaignRenders),
        parameters: campaignNames,
        problems: problemsOfSeen,
      },
      async (request, reply) => {
        const { statement, expected: seen } = request.body;
        const asked = { ...request.params, statement, expected: seen };
        return tellChanged(reply, await campaigns.stop(asked), "campaign");
      },
    ),
    act(
      "/ops/campaigns/:business_uuid/:campaign_id/resume",
      {
        summary: "Lets a campaign go on that operators stopped",
        body: resumeBody,
        answer: changed("campaign", campaignRenders),
        parameters: campaignNames,
        problems: problemsOfSeen,
      },
      async (request, reply) => {
        const asked = { ...request.params, statement: null, expected: request.body.expected };
        return tellChanged(reply, await campaigns.stop(asked), "campaign");
      },
    ),
  ];
}
