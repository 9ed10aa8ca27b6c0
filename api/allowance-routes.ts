// What an AI company has paid in, and what it was charged.

import { requestBytesMax } from "../protocol/limits.ts";
import { anyText } from "../protocol/shape.ts";
import { allowanceAnswer, month, statementAnswer } from "../protocol/wire/allowance.ts";
import type { Outcome } from "../service/answer.ts";
import type { AcceptedCallers, AuthenticationDeps } from "../service/authenticate.ts";
import type { HttpDeps } from "./http-server.ts";
import type { Parameter, Route, RouteDoc } from "./route.ts";
import { sandboxKey } from "./sandbox-key.ts";
import { type SignedCall, signedHandler } from "./signed.ts";

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
  ...{ name: "month", in: "path", required: true, schema: month.schema },
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
      ...{ description: "The statement", body: anyText, mediaType: "text/csv" },
      headers: ["Cache-Control", "Vary", "Content-Disposition"],
    },
  },
};

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
    ...{ method: "GET", path, tags: ["svc-retrieval"], doc, handle: run },
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
