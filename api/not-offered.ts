// Addresses that the specification names and this version does not serve: they say so plainly instead of pretending.

import { problem } from "../protocol/problem.ts";
import { leaveBodyUnread } from "./body.ts";
import { sendProblem } from "./reply.ts";
import type { Method, Route } from "./route.ts";

/** `what` is the subject of «… is not offered by this version.» */
export function notOfferedRoute(method: Method, path: string, what: string): Route {
  return {
    method,
    path,
    tags: [],
    doc: {
      summary: `${what}: not offered by this version`,
      parameters: [...path.matchAll(/:([a-z_]+)/g)].map(([, name = ""]) => ({
        name,
        in: "path",
        description: "Not read.",
        schema: { type: "string" },
      })),
      answers: {},
      problems: ["not_offered"],
    },
    handle: async (request, reply) => {
      leaveBodyUnread(request, reply);
      return sendProblem(
        reply,
        problem("not_offered", `${what}: not offered by this version of the service.`),
      );
    },
  };
}
