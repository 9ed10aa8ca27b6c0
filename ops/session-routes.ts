// The address at which a browser's session begins, is looked at and ends.

import type { FastifyInstance } from "fastify";
import {
  described,
  listOf,
  nullable,
  type Of,
  object,
  oneOf,
  optional,
  text,
  timestamp,
} from "../protocol/shape.ts";
import { sendProblem } from "./acts.ts";
import {
  challenge,
  type OpsAccess,
  type OpsSessions,
  opsRightNames,
  rightsOfToken,
  sessionPath,
  withReading,
} from "./guard.ts";
import { type OpsRoute, read, route } from "./route.ts";
import { plainText } from "./shapes.ts";

const tokenLengthMax = 1_024;

const sessionBody = object({
  token: described(text(tokenLengthMax), "The operators' token, or the one for reading. It is kept nowhere."),
  rights: optional(
    described(
      listOf(oneOf(opsRightNames)),
      "For a session that has these alone, and may read; those of the token if it is left out.",
    ),
  ),
  by: optional(
    plainText(
      200,
      "Who signs in. What is done in the session is done in this name; without one it can only read.",
    ),
  ),
});
type SessionBody = Of<typeof sessionBody>;

const sessionState = object({
  rights: described(
    listOf(oneOf(opsRightNames)),
    "What this request may do; empty for nothing but what anybody may.",
  ),
  via: described(oneOf(["nothing", "token", "read_token", "session", "proxy"]), "How that was shown."),
  user: described(nullable(text(200)), "Who it is, by the proxy, the session, or the name beside the token."),
  ends_at: described(nullable(timestamp), "When the session ends at the latest; null without one."),
});

/** Who opens a session is let in by the token that is sent; this must be known before the audit log is written to. */
export function judgeOpenings(server: FastifyInstance, access: OpsAccess): void {
  server.addHook("preHandler", (request, _reply, done) => {
    if (request.method === "POST" && request.routeOptions.url === sessionPath) {
      const { token, by = null } = request.body as SessionBody;
      const rights = rightsOfToken(access, token);
      if (rights.length > 0) {
        request.isLetIn = true;
        request.admission = { rights, via: rights.length > 1 ? "token" : "read_token", user: by };
      }
    }
    done();
  });
}

const opened = { 200: { description: "The session, and what it may do", body: sessionState } };

export function sessionRoutes(access: OpsAccess, sessions: OpsSessions): readonly OpsRoute[] {
  return [
    read(
      sessionPath,
      { summary: "What this request may do, and how that was shown", answer: sessionState },
      async ({ admission, headers }) => {
        const { rights = [], via = "nothing", user = null } = admission ?? {};
        const found = via === "session" ? sessions.find(headers.cookie) : null;
        const ends_at = found === null ? null : new Date(found.endsAtMs).toISOString();
        return { rights, via, user, ends_at };
      },
    ),
    route(
      "POST",
      sessionPath,
      { summary: "Opens a browser's session with a token", body: sessionBody, answers: opened },
      async (request, reply) => {
        const { token, rights: asked, by = null } = request.body;
        const given = rightsOfToken(access, token);
        if (given.length === 0) {
          reply.header("www-authenticate", challenge);
          return sendProblem(reply, "token_invalid", "This is not a token of the operators.");
        }
        if (asked?.some((right) => !given.includes(right)))
          return sendProblem(reply, "right_missing", "The token gives the right to read alone.");
        const rights = asked === undefined ? given : withReading(asked);
        const { session, cookie } = sessions.open({ rights, user: by });
        request.outcome = { rights };
        const ends_at = new Date(session.endsAtMs).toISOString();
        return reply.header("set-cookie", cookie).send({ rights, via: "session", user: by, ends_at });
      },
    ),
    route(
      "DELETE",
      sessionPath,
      { summary: "Ends the browser's session", answers: opened },
      async ({ headers }, reply) =>
        reply
          .header("set-cookie", sessions.end(headers.cookie))
          .send({ rights: [], via: "nothing", user: null, ends_at: null }),
    ),
  ];
}
