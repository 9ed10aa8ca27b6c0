// The receipts and the usage of an AI company.

import { requestBytesMax } from "../protocol/limits.ts";
import { keyId } from "../protocol/shape.ts";
import { day } from "../protocol/wire/analytics.ts";
import {
  instant,
  receiptCursor,
  receiptsAnswer,
  receiptsPageMax,
  receiptsPageUsual,
  retrievalId,
  usageAnswer,
  usageGrouping,
} from "../protocol/wire/receipts.ts";
import type { AcceptedCallers, AuthenticationDeps } from "../service/authenticate.ts";
import type { ReadOwnReceipts } from "../service/own-receipts.ts";
import { type ReadUsage, usageDaysMax } from "../service/usage.ts";
import type { HttpDeps } from "./http-server.ts";
import type { Route, RouteDoc } from "./route.ts";
import { sandboxKey } from "./sandbox-key.ts";
import { signedHandler } from "./signed.ts";

export interface CompanyRoutesDeps {
  readonly http: HttpDeps;
  readonly authentication: AuthenticationDeps;
  readonly receipts: ReadOwnReceipts;
  readonly usage: ReadUsage;
}

const problems = ["request_invalid", "region_misdirected"] as const;

const receiptsDoc: RouteDoc = {
  summary: "Your company's own receipts, or one of them, checked",
  description:
    "The receipts that this region gave to any key of your company, in the order of serving, for as long as the region keeps them. Ask each region for its own. With `retrieval_id` it is that one receipt, verified, with its proof from the transparency log; one of another company and one that never existed are the same 404. Reading is not billed and has no receipt.",
  parameters: [
    {
      ...{ name: "from", in: "query", schema: instant.schema },
      description:
        "The instant from which receipts are listed, itself included; by default from the oldest that is kept.",
    },
    {
      ...{ name: "to", in: "query", schema: instant.schema },
      description:
        "The instant up to which receipts are listed, itself not included; by default up to the newest.",
    },
    {
      ...{ name: "key_id", in: "query", schema: keyId.schema },
      description: "Only receipts of this key; by default those of all keys of the company.",
    },
    {
      ...{ name: "cursor", in: "query", schema: receiptCursor.schema },
      description: "The `next_cursor` of an earlier answer to the same question.",
    },
    {
      ...{ name: "limit", in: "query" },
      description: `The most receipts to answer; ${receiptsPageUsual} by default.`,
      schema: { type: "integer", minimum: 1, maximum: receiptsPageMax },
    },
    {
      ...{ name: "retrieval_id", in: "query", schema: retrievalId.schema },
      description: "The one receipt to answer and check; no other parameter may be given with it.",
    },
    sandboxKey,
  ],
  answers: {
    200: { description: "The receipts", body: receiptsAnswer, headers: ["Cache-Control"] },
  },
  problems: [...problems, "not_found"],
};

const usageDoc: RouteDoc = {
  summary: "What your company used, by day, key, kind, collection and country",
  description:
    "Counted from the receipts of this region, to the last one; counts stay when receipts are no longer kept. Ask each region for its own. Reading is not billed and has no receipt.",
  parameters: [
    {
      ...{ name: "from", in: "query", schema: day.schema },
      description: "The first day, in UTC; by default thirty days before `to`.",
    },
    {
      ...{ name: "to", in: "query", schema: day.schema },
      description: `The day after the last one; by default tomorrow. At most ${usageDaysMax} days after \`from\`.`,
    },
    {
      ...{ name: "group_by", in: "query", schema: usageGrouping.schema },
      description: "What counts are told apart by, with commas; by default all of them.",
    },
    sandboxKey,
  ],
  answers: { 200: { description: "The counts", body: usageAnswer, headers: ["Cache-Control"] } },
  problems,
};

export function companyRoutes(deps: CompanyRoutesDeps, accepted: AcceptedCallers): readonly Route[] {
  const common = {
    ...{ authentication: deps.authentication, accepted, claimsMeanwhile: false },
    limits: { bytesMax: requestBytesMax, edge: deps.http.edge },
  };
  return [
    {
      ...{ method: "GET", path: "/v1/receipts", tags: ["svc-retrieval"], doc: receiptsDoc },
      handle: signedHandler({
        ...common,
        queryNames: ["from", "to", "key_id", "cursor", "limit", "retrieval_id"],
        answer: ({ authenticated, query }) => deps.receipts({ caller: authenticated.caller, query }),
      }),
    },
    {
      ...{ method: "GET", path: "/v1/usage", tags: ["svc-retrieval"], doc: usageDoc },
      handle: signedHandler({
        ...common,
        queryNames: ["from", "to", "group_by"],
        answer: ({ authenticated, query }) => deps.usage({ caller: authenticated.caller, query }),
      }),
    },
  ];
}
