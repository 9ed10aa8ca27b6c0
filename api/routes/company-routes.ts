// The receipts and the usage of an AI company.

import type { FastifyRequest } from "fastify";
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
import { type ReadOwnReceipts, type ReadUsage, usageDaysMax } from "../../service/retrieval/own-receipts.ts";
import { parameter } from "../public-read.ts";
import {
  answeredWith,
  inPath,
  inQuery,
  type Parameter,
  type Route,
  type RouteDoc,
  sandboxKey,
} from "../route.ts";
import { type Callers, companyRoute } from "../signed.ts";

const problems = ["request_invalid", "region_misdirected"] as const;

const receiptsDoc: RouteDoc = {
  summary: "Your company's own receipts, or one of them, checked",
  description:
    "The receipts that this region gave to any key of your company, in the order of serving, for as long as the region keeps them. Ask each region for its own. With `retrieval_id` it is that one receipt, verified, with its proof from the transparency log; one of another company and one that never existed are the same 404. Reading is not billed and has no receipt.",
  parameters: [
    inQuery(
      "from",
      "The instant from which receipts are listed, itself included; by default from the oldest that is kept.",
      instant.schema,
    ),
    inQuery(
      "to",
      "The instant up to which receipts are listed, itself not included; by default up to the newest.",
      instant.schema,
    ),
    inQuery(
      "key_id",
      "Only receipts of this key; by default those of all keys of the company.",
      keyId.schema,
    ),
    inQuery("cursor", "The `next_cursor` of an earlier answer to the same question.", receiptCursor.schema),
    inQuery("limit", `The most receipts to answer; ${receiptsPageUsual} by default.`, {
      type: "integer",
      minimum: 1,
      maximum: receiptsPageMax,
    }),
    inQuery(
      "retrieval_id",
      "The one receipt to answer and check; no other parameter may be given with it.",
      retrievalId.schema,
    ),
    sandboxKey,
  ],
  answers: answeredWith("The receipts", receiptsAnswer, ["Cache-Control"]),
  problems: [...problems, "not_found"],
};

const usageDoc: RouteDoc = {
  summary: "What your company used, by day, key, kind, collection and country",
  description:
    "Counted from the receipts of this region, to the last one; counts stay when receipts are no longer kept. Ask each region for its own. Reading is not billed and has no receipt.",
  parameters: [
    inQuery("from", "The first day, in UTC; by default thirty days before `to`.", day.schema),
    inQuery(
      "to",
      `The day after the last one; by default tomorrow. At most ${usageDaysMax} days after \`from\`.`,
      day.schema,
    ),
    inQuery(
      "group_by",
      "What counts are told apart by, with commas; by default all of them.",
      usageGrouping.schema,
    ),
    sandboxKey,
  ],
  answers: answeredWith("The counts", usageAnswer, ["Cache-Control"]),
  problems,
};

/** `GET /v1/receipts` and `/v1/usage`. */
export function companyRoutes(
  callers: Callers,
  reads: { readonly receipts: ReadOwnReceipts; readonly usage: ReadUsage },
): readonly Route[] {
  return [
    companyRoute(callers, "GET", "/v1/receipts", receiptsDoc, {
      queryNames: ["from", "to", "key_id", "cursor", "limit", "retrieval_id"],
      answer: ({ authenticated, query }) => reads.receipts({ caller: authenticated.caller, query }),
    }),
    companyRoute(callers, "GET", "/v1/usage", usageDoc, {
      queryNames: ["from", "to", "group_by"],
      answer: ({ authenticated, query }) => reads.usage({ caller: authenticated.caller, query }),
    }),
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

const allowanceDoc: RouteDoc = {
  summary: "The prepaid allowance of your company, and the prices",
  description:
    "A search with at least one row and a fetch with a record are charged, each (keyid, nonce) once; refusals, failures and these reads are free. A request that the allowance does not cover is refused with 402 `allowance_exhausted`. What was served is charged within about two minutes, in the order of its receipts: `charged_before` says how far. In a sandbox nothing is charged.",
  parameters: [sandboxKey],
  answers: answeredWith("The account, and every version of the prices", allowanceAnswer, [
    "Cache-Control",
    "Vary",
  ]),
  problems: ["region_misdirected"],
};

const monthParameter: Parameter = inPath("month", "A month of the account, UTC.", month.schema);

const statementDoc: RouteDoc = {
  summary: "The statement of a month",
  description:
    "Every entry of the month, and what was charged by day, kind, collection and price. Statements sum to the account: `opening` + `entered` - `charged` = `closing`, which is the `opening` of the next month, and the `closing` of the current month is the balance. What was served belongs to its own month for two days after it, and then to the month in which it is charged; a final statement never changes.",
  parameters: [monthParameter, sandboxKey],
  answers: answeredWith("The statement", statementAnswer, ["Cache-Control", "Vary"]),
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

/** What a company reads of its allowance and price list, and of what it was charged. */
export function allowanceRoutes(callers: Callers, reads: AllowanceReads): readonly Route[] {
  const read = (
    path: string,
    doc: RouteDoc,
    answer: (company: string, request: FastifyRequest) => Promise<Outcome>,
  ): Route =>
    companyRoute(callers, "GET", path, doc, {
      answer: ({ authenticated, request }) => answer(authenticated.caller.party.uuid, request),
    });
  const statement = (path: string, doc: RouteDoc, format: "json" | "csv"): Route =>
    read(path, doc, (company, request) =>
      reads.statement({ company, month: parameter(request, "month"), format }),
    );
  return [
    read("/v1/allowance", allowanceDoc, (company) => reads.allowance(company)),
    statement("/v1/statements/:month", statementDoc, "json"),
    statement("/v1/statements/:month/csv", csvDoc, "csv"),
  ];
}
