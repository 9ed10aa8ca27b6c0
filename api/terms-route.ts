// The terms of AI companies, and agreeing to them.

import { requestBytesMax } from "../protocol/limits.ts";
import { agreementAnswer, agreementBody, termsAnswer, termsVersion } from "../protocol/wire/terms.ts";
import type { AcceptedCallers, AuthenticationDeps } from "../service/authenticate.ts";
import type { AgreeToTerms, ReadTerms } from "../service/terms.ts";
import type { HttpDeps } from "./http-server.ts";
import type { Route, RouteDoc } from "./route.ts";
import { sandboxKey } from "./sandbox-key.ts";
import { signedHandler } from "./signed.ts";

export interface TermsRoutesDeps {
  readonly http: HttpDeps;
  readonly authentication: AuthenticationDeps;
  readonly terms: ReadTerms;
  readonly agreeToTerms: AgreeToTerms;
}

const readDoc: RouteDoc = {
  summary: "The terms of AI companies",
  description:
    "The version that is in force now, or the one that you name: every version stays readable, with the hash of its exact text. Those that come into force later are listed too. `agreed` says whether your company agreed to the version of the answer. Reading is not billed and has no receipt.",
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

const agreeDoc: RouteDoc = {
  summary: "Agree to a version of the terms",
  description:
    "Your company agrees to the exact text of a version: the one in force, or one that comes into force later. Any key of the company may; which key did, and by which signed request, is recorded. Sent again, it changes nothing and gets the first answer, with the instant of the agreement. Other text than the published is refused with `terms_mismatch`, and a version that a later one in force has replaced with `terms_superseded`. It is not billed and has no receipt.",
  parameters: [sandboxKey],
  body: agreementBody,
  answers: {
    200: { description: "The agreement", body: agreementAnswer, headers: ["Cache-Control"] },
  },
  problems: [
    ...(["request_invalid", "not_found", "terms_mismatch", "terms_superseded"] as const),
    ...(["region_misdirected", "request_timeout", "media_type_unsupported"] as const),
  ],
};

export function termsRoutes(deps: TermsRoutesDeps, accepted: AcceptedCallers): readonly Route[] {
  const common = {
    ...{ authentication: deps.authentication, accepted, claimsMeanwhile: false },
    limits: { bytesMax: requestBytesMax, edge: deps.http.edge },
  };
  return [
    {
      ...{ method: "GET", path: "/v1/terms", tags: ["svc-retrieval"], doc: readDoc },
      handle: signedHandler({
        ...common,
        queryNames: ["version"],
        answer: ({ authenticated, query }) =>
          deps.terms({ caller: authenticated.caller, version: query.version }),
      }),
    },
    {
      ...{ method: "POST", path: "/v1/terms/agreements", tags: ["svc-retrieval"], doc: agreeDoc },
      handle: signedHandler({
        ...common,
        queryNames: [],
        answer: ({ authenticated, body }) => deps.agreeToTerms({ caller: authenticated.caller, body }),
      }),
    },
  ];
}
