// The receipts and the usage of an AI company.

import { requestBytesMax } from "../../protocol/limits.ts";
import { anyText, keyId } from "../../protocol/shape.ts";
import { allowanceAnswer, month, statementAnswer } from "../../protocol/wire/allowance.ts";
import { day } from "../../protocol/wire/analytics.ts";
import {
  instant,
  receiptCursor,
  receiptsAnswer,
  receiptsPageMax,
  receiptsPageUsual,
  retrievalId,
  usageAnswer,
  usageGrouping,
} from "../../protocol/wire/receipts.ts";
import type { Outcome } from "../../service/answer.ts";
import type { AcceptedCallers, AuthenticationDeps } from "../../service/authentication/authenticate.ts";
import { type ReadOwnReceipts, type ReadUsage, usageDaysMax } from "../../service/retrieval/own-receipts.ts";
import type { HttpDeps } from "../http-server.ts";
import { type Parameter, type Route, type RouteDoc, sandboxKey } from "../route.ts";
import { type SignedCall, signedHandler } from "../signed.ts";

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
      name: "from",
      in: "query",
      schema: instant.schema,
      description:
        "The instant from which receipts are listed, itself included; by default from the oldest that is kept.",
    },
    {
      name: "to",
      in: "query",
      schema: instant.schema,
      description:
        "The instant up to which receipts are listed, itself not included; by default up to the newest.",
    },
    {
      name: "key_id",
      in: "query",
      schema: keyId.schema,
      description: "Only receipts of this key; by default those of all keys of the company.",
    },
    {
      name: "cursor",
      in: "query",
      schema: receiptCursor.schema,
      description: "The `next_cursor` of an earlier answer to the same question.",
    },
    {
      name: "limit",
      in: "query",
      description: `The most receipts to answer; ${receiptsPageUsual} by default.`,
      schema: { type: "integer", minimum: 1, maximum: receiptsPageMax },
    },
    {
      name: "retrieval_id",
      in: "query",
      schema: retrievalId.schema,
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
      name: "from",
      in: "query",
      schema: day.schema,
      description: "The first day, in UTC; by default thirty days before `to`.",
    },
    {
      name: "to",
      in: "query",
      schema: day.schema,
      description: `The day after the last one; by default tomorrow. At most ${usageDaysMax} days after \`from\`.`,
    },
    {
      name: "group_by",
      in: "query",
      schema: usageGrouping.schema,
      description: "What counts are told apart by, with commas; by default all of them.",
    },
    sandboxKey,
  ],
  answers: { 200: { description: "The counts", body: usageAnswer, headers: ["Cache-Control"] } },
  problems,
};

/** `GET /v1/receipts`, `/v1/usage` and what else an AI company reads of its own. */
export function companyRoutes(deps: CompanyRoutesDeps, accepted: AcceptedCallers): readonly Route[] {
  const common = {
    authentication: deps.authentication,
    accepted,
    claimsMeanwhile: false,
    limits: { bytesMax: requestBytesMax, edge: deps.http.edge },
  };
  return [
    {
      method: "GET",
      path: "/v1/receipts",
      tags: ["svc-retrieval"],
      doc: receiptsDoc,
      handle: signedHandler({
        ...common,
        queryNames: ["from", "to", "key_id", "cursor", "limit", "retrieval_id"],
        answer: ({ authenticated, query }) => deps.receipts({ caller: authenticated.caller, query }),
      }),
    },
    {
      method: "GET",
      path: "/v1/usage",
      tags: ["svc-retrieval"],
      doc: usageDoc,
      handle: signedHandler({
        ...common,
        queryNames: ["from", "to", "group_by"],
        answer: ({ authenticated, query }) => deps.usage({ caller: authenticated.caller, query }),
      }),
    },
  ];
}

// What an AI company has paid in, and what it was charged.

export interface AllowanceReads {
  readonly allowance: (company: string) => Promise<Outcome>;
  readonly statement: (asked: {
    readonly company: string;
    readonly month: string;
    readonly format: "json" | "csv";
  }) => Promise<Outcome>;
}

export interface AllowanceRoutesDeps {
  readonly http: HttpDeps;
  readonly authentication: AuthenticationDeps;
  readonly allowance: AllowanceReads;
}

const allowanceDoc: RouteDoc = {
  summary: "The prepaid allowance of your company, and the prices",
  description:
    "A search with at least one row and a fetch with a record are charged, each (keyid, nonce) once; refusals, failures and these reads are free. A request that the allowance does not cover is refused with 402 `allowance_exhausted`. What was served is charged within about two minutes, in the order of its receipts: `charged_before` says how far. In a sandbox nothing is charged.",
  parameters: [sandboxKey],
  answers: {
    200: {
      description: "The account, and every version of the prices",
      body: allowanceAnswer,
      headers: ["Cache-Control", "Vary"],
    },
  },
  problems: ["region_misdirected"],
};

const monthParameter: Parameter = {
  name: "month",
  in: "path",
  required: true,
  schema: month.schema,
  description: "A month of the account, UTC.",
};

const statementDoc: RouteDoc = {
  summary: "The statement of a month",
  description:
    "Every entry of the month, and what was charged by day, kind, collection and price. Statements sum to the account: `opening` + `entered` - `charged` = `closing`, which is the `opening` of the next month, and the `closing` of the current month is the balance. What was served belongs to its own month for two days after it, and then to the month in which it is charged; a final statement never changes.",
  parameters: [monthParameter, sandboxKey],
  answers: {
    200: { description: "The statement", body: statementAnswer, headers: ["Cache-Control", "Vary"] },
  },
  problems: ["request_invalid", "not_found", "region_misdirected"],
};

const csvDoc: RouteDoc = {
  ...statementDoc,
  summary: "The statement of a month as CSV",
  description:
    "RFC 4180, with the columns `item` (`opening`, `top_up`, `correction`, `search`, `fetch`, `closing`), `day`, `collection`, `id`, `price`, `count`, `amount` and `currency`. Charges are negative: all amounts but the last sum to the last, the closing balance.",
  answers: {
    200: {
      description: "The statement",
      body: anyText,
      mediaType: "text/csv",
      headers: ["Cache-Control", "Vary", "Content-Disposition"],
    },
  },
};

/** What a company reads of its allowance and price list, and the terms that it accepts. */
export function allowanceRoutes(deps: AllowanceRoutesDeps, accepted: AcceptedCallers): readonly Route[] {
  const handle = (answer: (call: SignedCall, company: string) => Promise<Outcome>): Route["handle"] =>
    signedHandler({
      authentication: deps.authentication,
      accepted,
      limits: { bytesMax: requestBytesMax, edge: deps.http.edge },
      queryNames: [],
      claimsMeanwhile: false,
      answer: (call) => answer(call, call.authenticated.caller.party.uuid),
    });
  const read = (path: string, doc: RouteDoc, run: Route["handle"]): Route => ({
    method: "GET",
    path,
    tags: ["svc-retrieval"],
    doc,
    handle: run,
  });
  const statement = (format: "json" | "csv") =>
    handle(({ request }, company) =>
      deps.allowance.statement({ company, month: monthOf(request.params), format }),
    );
  return [
    read(
      "/v1/allowance",
      allowanceDoc,
      handle((_call, company) => deps.allowance.allowance(company)),
    ),
    read("/v1/statements/:month", statementDoc, statement("json")),
    read("/v1/statements/:month/csv", csvDoc, statement("csv")),
  ];
}

function monthOf(params: unknown): string {
  return (params as { readonly month: string }).month;
}
