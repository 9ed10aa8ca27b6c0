// The event stream of an AI company.

import { requestBytesMax } from "../protocol/limits.ts";
import { companyEvents, eventCursor, eventsPageMax, eventsPageUsual } from "../protocol/wire/events.ts";
import type { AuthenticationDeps } from "../service/authenticate.ts";
import type { ReadCompanyEvents } from "../service/company-events.ts";
import { prefersLines } from "./accept.ts";
import type { HttpDeps } from "./http-server.ts";
import type { Route, RouteDoc } from "./route.ts";
import { sandboxKey } from "./sandbox-key.ts";
import { signedHandler } from "./signed.ts";

export interface EventsRouteDeps {
  readonly http: HttpDeps;
  readonly authentication: AuthenticationDeps;
  readonly authorities: readonly string[];
  readonly events: ReadCompanyEvents;
}

const doc: RouteDoc = {
  summary: "What was answered to your company, one event after another",
  description:
    "One event for every search and fetch that this region answered, with the `client_query_id` that it was sent with, about two minutes after the answer and for 30 days. Read on from the `cursor` of the last event that you have processed: none is missed, and one that comes twice has the same `event_id`. With `Accept: application/x-ndjson` every line is an event. Reading is not billed and has no receipt.",
  parameters: [
    {
      ...{ name: "after", in: "query", schema: eventCursor.schema },
      description:
        "The cursor of the last event that was processed; without it, the oldest events come first.",
    },
    {
      ...{ name: "limit", in: "query" },
      description: `The most events to answer; ${eventsPageUsual} by default.`,
      schema: { type: "integer", minimum: 1, maximum: eventsPageMax },
    },
    sandboxKey,
  ],
  answers: {
    200: {
      description: "The events after the cursor, in the order in which they were stored",
      body: companyEvents,
      headers: ["Cache-Control", "Vary"],
    },
  },
  lines: [200],
  problems: ["request_invalid", "region_misdirected"],
};

export function eventsRoute(deps: EventsRouteDeps): Route {
  return {
    method: "GET",
    path: "/v1/events",
    tags: ["svc-retrieval"],
    doc,
    handle: signedHandler({
      authentication: deps.authentication,
      accepted: {
        authorities: deps.authorities,
        tags: ["svc-retrieval"],
        roles: ["retrieval"],
        bearer: true,
      },
      limits: { bytesMax: requestBytesMax, edge: deps.http.edge },
      queryNames: ["after", "limit"],
      claimsMeanwhile: false,
      answer: ({ authenticated, query, request }) =>
        deps.events({
          caller: authenticated.caller,
          ...query,
          format: prefersLines(request.headers.accept ?? "") ? "lines" : "json",
        }),
    }),
  };
}
