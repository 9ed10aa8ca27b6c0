// The read of what operators took out of serving. The specification names no such read; this one is the service's own.

import { takedownsAnswer } from "../protocol/wire/takedowns.ts";
import type { Outcome } from "../service/answer.ts";
import { type BusinessCallers, businessRead } from "./business-read.ts";
import type { Route } from "./route.ts";
import { sandboxKey } from "./sandbox-key.ts";

export type ReadTakedowns = (businessUuid: string) => Promise<Outcome>;

export function takedownsRoute(callers: BusinessCallers, read: ReadTakedowns): Route {
  return {
    method: "GET",
    path: "/v1/takedowns",
    tags: ["svc-business-read"],
    doc: {
      summary: "What the service's operators took out of serving of yours, and why",
      description:
        "A record that was taken down, or all records of a business, are found by no search, fetch or ad pool, and leave your catalogue, until the takedown is lifted. Nothing else changes: seals stay valid, and what you publish, withdraw or delete meanwhile counts from then on.",
      parameters: [sandboxKey],
      answers: { 200: { description: "All of them", body: takedownsAnswer } },
    },
    handle: businessRead(callers, [], ({ authenticated }) => read(authenticated.caller.party.uuid)),
  };
}
