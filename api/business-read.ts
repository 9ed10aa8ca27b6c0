// A read of the business machine surface: signed with `svc-business-read` by any live integration key.

import { requestBytesMax } from "../protocol/limits.ts";
import type { Outcome } from "../service/answer.ts";
import type { AuthenticationDeps } from "../service/authenticate.ts";
import type { HttpDeps } from "./http-server.ts";
import type { Route } from "./route.ts";
import { type SignedCall, signedHandler } from "./signed.ts";

/** What every signed route of the surface needs. */
export interface BusinessCallers {
  readonly http: Pick<HttpDeps, "edge">;
  readonly authentication: AuthenticationDeps;
  /** The `@authority` values of this surface: host[:port], lower case, without a default port. */
  readonly authorities: readonly string[];
}

export function businessRead<N extends string>(
  { http, authentication, authorities }: BusinessCallers,
  queryNames: readonly N[],
  answer: (call: SignedCall<N>) => Promise<Outcome>,
): Route["handle"] {
  return signedHandler({
    authentication,
    accepted: { authorities, tags: ["svc-business-read"], roles: ["integration"], bearer: false },
    limits: { bytesMax: requestBytesMax, edge: http.edge },
    queryNames,
    claimsMeanwhile: false,
    answer,
  });
}
