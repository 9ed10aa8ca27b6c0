// The read of the domains of a business's endpoints. The specification names no read of them; this one is the service's own.

import { domainsAnswer } from "../protocol/wire/domains.ts";
import type { Outcome } from "../service/answer.ts";
import { type BusinessCallers, businessRead } from "./business-read.ts";
import type { Route } from "./route.ts";
import { sandboxKey } from "./sandbox-key.ts";

export type ReadDomains = (businessUuid: string) => Promise<Outcome>;

export function domainsRoute(callers: BusinessCallers, read: ReadDomains): Route {
  return {
    method: "GET",
    path: "/v1/domains",
    tags: ["svc-business-read"],
    doc: {
      summary: "The domains of your endpoints, and whether you control them",
      description:
        "Publish the challenge of each domain, as a TXT record or as a line of the file, for as long as a business file of yours has endpoints there. Control is confirmed from time to time; where it is lost, the endpoints of that business file are `suspended` until it is confirmed again.",
      parameters: [sandboxKey],
      answers: { 200: { description: "All of them", body: domainsAnswer } },
    },
    handle: businessRead(callers, [], ({ authenticated }) => read(authenticated.caller.party.uuid)),
  };
}
