// The routes of held pushes on the business machine surface: which of them wait, and what an owner or admin decides.

import { heldPushes, holdBody, pushId, pushStatus } from "../../protocol/wire/push.ts";
import { isRefused, type Outcome, parseJsonBody } from "../../service/answer.ts";
import type { DecideHoldRequest, ListHoldsRequest } from "../../service/publishing/decide-hold.ts";
import { parameter } from "../public-read.ts";
import { answeredWith, inPath, inQuery, type Route, type RouteDoc, sandboxKey } from "../route.ts";
import { businessPush, businessRead, type Callers } from "../signed.ts";

/** What the routes call; each function checks its input beyond authentication. */
export interface Holds {
  listHolds(request: ListHoldsRequest): Promise<Outcome>;
  decideHold(request: DecideHoldRequest): Promise<Outcome>;
}

const listDoc: RouteDoc = {
  summary: "The held pushes of the business, oldest first",
  description: "A held push is stored and not published until an owner or admin confirms it.",
  parameters: [inQuery("cursor", "`next_cursor` of the previous page.", { type: "string" }), sandboxKey],
  answers: answeredWith("A page of held pushes", heldPushes),
  problems: ["request_invalid"],
};

const decideDoc: RouteDoc = {
  summary: "Confirm or reject a held push",
  description:
    "The decision is a document that an owner or admin sealed with a passkey; any live integration key of the business may deliver it, with or without a mandate. Sending the same document again is answered with what became of the push.",
  parameters: [inPath("push_id", "Push id.", pushId.schema), sandboxKey],
  body: holdBody,
  answers: answeredWith("The push, after the decision", pushStatus),
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
};

/** `GET /v1/holds` and `POST /v1/pushes/{push_id}/hold`. */
export function holdRoutes(callers: Callers, holds: Holds): readonly Route[] {
  return [
    businessRead(callers, "/v1/holds", listDoc, ["cursor"], ({ authenticated, query }) =>
      holds.listHolds({ caller: authenticated.caller, cursor: query.cursor }),
    ),
    businessPush(callers, "/v1/pushes/:push_id/hold", decideDoc, {
      answer: async ({ authenticated: { caller }, body, request }) => {
        const read = parseJsonBody(holdBody, body);
        if (isRefused(read)) return read;
        const { decision } = read.value;
        return holds.decideHold({ caller, pushId: parameter(request, "push_id"), decision });
      },
    }),
  ];
}
