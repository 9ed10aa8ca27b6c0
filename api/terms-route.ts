// The terms of AI companies.

import { requestBytesMax } from "../protocol/limits.ts";
import { termsAnswer, termsVersion } from "../protocol/wire/terms.ts";
import type { AcceptedCallers, AuthenticationDeps } from "../service/authenticate.ts";
import type { ReadTerms } from "../service/terms.ts";
import type { HttpDeps } from "./http-server.ts";
import type { Route, RouteDoc } from "./route.ts";
import { sandboxKey } from "./sandbox-key.ts";
import { signedHandler } from "./signed.ts";

export interface TermsRouteDeps {
  readonly http: HttpDeps;
  readonly authentication: AuthenticationDeps;
  readonly terms: ReadTerms;
}

const doc: RouteDoc = {
  summary: "The terms of AI companies",
  description:
    "The version that is in force now, or the one that you name: every version stays readable, with the hash of its exact text. Those that come into force later are listed too. Reading is not billed and has no receipt.",
  parameters: [
    {
      ...{ name: "version", in: "query", schema: termsVersion.schema },
      description: "The number of a version; without it, the one in force now.",
    },
    sandboxKey,
  ],
  answers: {
    200: {
      description: "The version, and all that are published",
      body: termsAnswer,
      headers: ["Cache-Control"],
    },
  },
  problems: ["request_invalid", "not_found", "region_misdirected"],
};

export function termsRoute(deps: TermsRouteDeps, accepted: AcceptedCallers): Route {
  return {
    method: "GET",
    path: "/v1/terms",
    tags: ["svc-retrieval"],
    doc,
    handle: signedHandler({
      authentication: deps.authentication,
      accepted,
      limits: { bytesMax: requestBytesMax, edge: deps.http.edge },
      queryNames: ["version"],
      claimsMeanwhile: false,
      answer: async ({ query }) => deps.terms(query),
    }),
  };
}
