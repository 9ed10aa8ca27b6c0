// The routes of held pushes on the business machine surface: which of them wait, and what an owner or admin decides.

import { requestBytesMax } from "../../protocol/limits.ts";
import { heldPushes, holdBody, pushId, pushStatus } from "../../protocol/wire/push.ts";
import { isRefused, type Outcome, parseJsonBody } from "../../service/answer.ts";
import type { DecideHoldRequest, ListHoldsRequest } from "../../service/publishing/decide-hold.ts";
import { type Route, sandboxKey } from "../route.ts";
import { type BusinessCallers, businessPush, businessRead, type SignedCall } from "../signed.ts";

/** What the routes call; each function checks its input beyond authentication. */
export interface Holds {
  listHolds(request: ListHoldsRequest): Promise<Outcome>;
  decideHold(request: DecideHoldRequest): Promise<Outcome>;
}

export interface HoldRoutesDeps extends BusinessCallers {
  readonly holds: Holds;
}

/** `GET /v1/holds` and `POST /v1/pushes/{push_id}/hold`. */
export function holdRoutes(deps: HoldRoutesDeps): readonly Route[] {
  return [listHoldsRoute(deps), decideHoldRoute(deps)];
}

function listHoldsRoute(deps: HoldRoutesDeps): Route {
  return {
    method: "GET",
    path: "/v1/holds",
    tags: ["svc-business-read"],
    doc: {
      summary: "The held pushes of the business, oldest first",
      description: "A held push is stored and not published until an owner or admin confirms it.",
      parameters: [
        {
          name: "cursor",
          in: "query",
          description: "`next_cursor` of the previous page.",
          schema: { type: "string" },
        },
        sandboxKey,
      ],
      answers: { 200: { description: "A page of held pushes", body: heldPushes } },
      problems: ["request_invalid"],
    },
    handle: businessRead(deps, ["cursor"], ({ authenticated, query }) =>
      deps.holds.listHolds({ caller: authenticated.caller, cursor: query.cursor }),
    ),
  };
}

function decideHoldRoute(deps: HoldRoutesDeps): Route {
  const answer = async ({ authenticated, body, request }: SignedCall): Promise<Outcome> => {
    const read = parseJsonBody(holdBody, body);
    if (isRefused(read)) return read;
    const { push_id: id } = request.params as { readonly push_id: string };
    const { decision } = read.value;
    return deps.holds.decideHold({ caller: authenticated.caller, pushId: id, decision });
  };
  return {
    method: "POST",
    path: "/v1/pushes/:push_id/hold",
    tags: ["svc-push"],
    doc: {
      summary: "Confirm or reject a held push",
      description:
        "The decision is a document that an owner or admin sealed with a passkey; any live integration key of the business may deliver it, with or without a mandate. Sending the same document again is answered with what became of the push.",
      parameters: [
        { name: "push_id", in: "path", description: "Push id.", schema: pushId.schema },
        sandboxKey,
      ],
      body: holdBody,
      answers: { 200: { description: "The push, after the decision", body: pushStatus } },
      problems: [
        "request_invalid",
        "record_too_large",
        "request_timeout",
        "media_type_unsupported",
        "not_found",
        "role_not_allowed",
        "push_not_held",
        "seal_invalid",
      ],
    },
    handle: businessPush(deps, { bytesMax: requestBytesMax, answer }),
  };
}
