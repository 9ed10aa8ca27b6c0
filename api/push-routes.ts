// The routes of one push on the business machine surface that act on it.

import { requestBytesMax } from "../protocol/limits.ts";
import { pushId, pushStatus } from "../protocol/wire/push.ts";
import type { Outcome } from "../service/answer.ts";
import type { AcceptedCallers, AuthenticationDeps } from "../service/authenticate.ts";
import type { CancelRequest } from "../service/cancel-push.ts";
import type { HttpDeps } from "./http-server.ts";
import { sourceOfRequest } from "./request-parts.ts";
import type { Route } from "./route.ts";
import { sandboxKey } from "./sandbox-key.ts";
import { signedHandler } from "./signed.ts";

export interface CancelRouteDeps {
  readonly http: HttpDeps;
  readonly authentication: AuthenticationDeps;
  readonly cancelPush: (request: CancelRequest) => Promise<Outcome>;
  readonly accepted: AcceptedCallers;
}

export function cancelPushRoute({ http, authentication, cancelPush, accepted }: CancelRouteDeps): Route {
  return {
    method: "POST",
    path: "/v1/pushes/:push_id/cancel",
    tags: ["svc-push"],
    doc: {
      summary: "Cancel a push of which nothing is published yet",
      description:
        "A queued push ends as `failed` with `error.code` `cancelled` if none of its records has a version yet, and so does a held one. Sent again, it is answered again.",
      parameters: [
        { name: "push_id", in: "path", description: "Push id.", schema: pushId.schema },
        sandboxKey,
      ],
      answers: { 200: { description: "The cancelled push", body: pushStatus } },
      problems: [
        "not_found",
        "mandate_missing",
        "out_of_scope",
        "source_not_allowed",
        "push_not_cancellable",
      ],
    },
    handle: signedHandler({
      authentication,
      accepted,
      limits: { bytesMax: requestBytesMax, edge: http.edge },
      queryNames: [],
      claimsMeanwhile: false,
      answer: ({ authenticated, request }) => {
        const { push_id } = request.params as { readonly push_id: string };
        const sourceIp = sourceOfRequest(request, http.edge);
        return cancelPush({ caller: authenticated.caller, pushId: push_id, sourceIp });
      },
    }),
  };
}
