// The entitlement of the AI company that asks.

import { requestBytesMax } from "../protocol/limits.ts";
import { entitlementAnswer } from "../protocol/wire/entitlement.ts";
import type { AcceptedCallers, AuthenticationDeps } from "../service/authenticate.ts";
import type { ReadEntitlement } from "../service/entitlement.ts";
import type { HttpDeps } from "./http-server.ts";
import type { Route, RouteDoc } from "./route.ts";
import { sandboxKey } from "./sandbox-key.ts";
import { signedHandler } from "./signed.ts";

export interface EntitlementRouteDeps {
  readonly http: HttpDeps;
  readonly authentication: AuthenticationDeps;
  readonly entitlement: ReadEntitlement;
}

const doc: RouteDoc = {
  summary: "Your company's entitlement",
  description:
    "A signed statement for others: who your company is, by which keys it asks, and which terms it agreed to, valid for 24 hours at most. Anyone checks it offline, or with `POST /v1/verify`. Where terms are in force, your company must have agreed to their exact text (`terms_not_agreed`), and its certificate must be active (`business_not_verified`). It is not billed and has no receipt.",
  parameters: [sandboxKey],
  answers: {
    200: { description: "The entitlement", body: entitlementAnswer, headers: ["Cache-Control"] },
  },
  problems: ["request_invalid", "terms_not_agreed", "business_not_verified", "region_misdirected"],
};

export function entitlementRoute(deps: EntitlementRouteDeps, accepted: AcceptedCallers): Route {
  return {
    method: "GET",
    path: "/v1/entitlement",
    tags: ["svc-retrieval"],
    doc,
    handle: signedHandler({
      authentication: deps.authentication,
      accepted,
      limits: { bytesMax: requestBytesMax, edge: deps.http.edge },
      queryNames: [],
      claimsMeanwhile: false,
      answer: ({ authenticated }) => deps.entitlement({ caller: authenticated.caller }),
    }),
  };
}
