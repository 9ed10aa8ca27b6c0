// How an AI company chooses to be in the key directory.

import { requestBytesMax } from "../protocol/limits.ts";
import { listingAnswer, listingBody } from "../protocol/wire/key-directory.ts";
import type { AcceptedCallers, AuthenticationDeps } from "../service/authenticate.ts";
import type { ChooseListing } from "../service/key-directory.ts";
import type { HttpDeps } from "./http-server.ts";
import type { Route, RouteDoc } from "./route.ts";
import { sandboxKey } from "./sandbox-key.ts";
import { signedHandler } from "./signed.ts";

export interface ListingRouteDeps {
  readonly http: HttpDeps;
  readonly authentication: AuthenticationDeps;
  readonly chooseListing: ChooseListing;
}

const doc: RouteDoc = {
  summary: "Choose whether the key directory lists your company",
  description:
    "Nobody is listed who did not choose so. `GET /.well-known/svc-keys` on the verification host then lists your company with all of its keys, while its certificate is active; it may be cached for five minutes. Any key of the company may choose; sent again, it changes nothing. It is not billed and has no receipt.",
  parameters: [sandboxKey],
  body: listingBody,
  answers: { 200: { description: "What is chosen now", body: listingAnswer, headers: ["Cache-Control"] } },
  problems: ["request_invalid", "region_misdirected", "request_timeout", "media_type_unsupported"],
};

export function listingRoute(deps: ListingRouteDeps, accepted: AcceptedCallers): Route {
  return {
    method: "POST",
    path: "/v1/key-directory/listing",
    tags: ["svc-retrieval"],
    doc,
    handle: signedHandler({
      authentication: deps.authentication,
      accepted,
      limits: { bytesMax: requestBytesMax, edge: deps.http.edge },
      queryNames: [],
      claimsMeanwhile: false,
      answer: ({ authenticated, body }) => deps.chooseListing({ caller: authenticated.caller, body }),
    }),
  };
}
