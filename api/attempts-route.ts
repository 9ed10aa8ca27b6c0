// The read of a business's push attempts (specification, «B. Business machine API»).

import { attemptsKeptDays, attemptsPageMax, refusalsPerHour } from "../protocol/limits.ts";
import { attemptsPage } from "../protocol/wire/attempts.ts";
import { recordOutcomes } from "../protocol/wire/push.ts";
import type { Outcome } from "../service/answer.ts";
import type { PushAttemptsRequest } from "../service/push-attempts.ts";
import { type BusinessCallers, businessRead } from "./business-read.ts";
import { cursorParameter } from "./catalogue-routes.ts";
import type { Parameter, Route } from "./route.ts";
import { sandboxKey } from "./sandbox-key.ts";

export type ReadAttempts = (request: PushAttemptsRequest) => Promise<Outcome>;

const instant = (name: "from" | "to", description: string): Parameter => ({
  name,
  in: "query",
  description: `${description} An instant in UTC (RFC 3339, ending in \`Z\`), or a date, which means its first instant in UTC.`,
  schema: { type: "string", maxLength: 40 },
});

export function attemptsRoute(callers: BusinessCallers, read: ReadAttempts): Route {
  return {
    method: "GET",
    path: "/v1/push-attempts",
    tags: ["svc-business-read"],
    doc: {
      summary: "What became of everything that was sent, in the order of its time",
      description: `One item for each record of each accepted batch, and one for each batch that was refused as a whole. Pages of up to ${attemptsPageMax}, oldest first. Attempts are kept for ${attemptsKeptDays} days; of refused batches, up to ${refusalsPerHour} an hour.`,
      parameters: [
        instant("from", `Only what was received then or later (default: ${attemptsKeptDays} days ago).`),
        instant("to", "Only what was received before (default: everything so far)."),
        {
          name: "status",
          in: "query",
          description: "Only attempts of this status.",
          schema: { enum: recordOutcomes },
        },
        cursorParameter,
        sandboxKey,
      ],
      answers: { 200: { description: "One page", body: attemptsPage } },
      problems: ["request_invalid"],
    },
    handle: businessRead(callers, ["from", "to", "status", "cursor"], ({ authenticated, query }) =>
      read({ caller: authenticated.caller, ...query }),
    ),
  };
}
