// The address at which a browser's session begins, is looked at and ends.

import type { FastifyInstance } from "fastify";
import { described, nullable, type Of, object, oneOf, optional, text, timestamp } from "../protocol/shape.ts";
import { challenge, type OpsAccess, rightOfToken, sessionPath } from "./guard.ts";
import { sendProblem } from "./reply.ts";
import type { OpsSessions } from "./sessions.ts";
import { plainText } from "./shapes.ts";

const tokenLengthMax = 1_024;

export const sessionBody = object({
  token: described(text(tokenLengthMax), "The operators' token, or the one for reading. It is kept nowhere."),
  right: optional(
    described(
      oneOf(["read", "act"]),
      "`read` for a session that cannot act; that of the token if it is left out.",
    ),
  ),
  by: optional(
    plainText(200, "Who opens it. It stands in the audit log beside what is done in the session."),
  ),
});
type SessionBody = Of<typeof sessionBody>;

export const sessionState = object({
  right: described(
    nullable(oneOf(["read", "act"])),
    "What this request may do; null for nothing but what anybody may.",
  ),
  via: described(oneOf(["nothing", "token", "read_token", "session", "proxy"]), "How that was shown."),
  user: described(nullable(text(200)), "Who it is, as the proxy or the opener of the session said."),
  ends_at: described(nullable(timestamp), "When the session ends at the latest; null without one."),
});

/** Who opens a session is let in by the token that is sent; this must be known before the audit log is written to. */
export function judgeOpenings(server: FastifyInstance, access: OpsAccess): void {
  server.addHook("preHandler", (request, _reply, done) => {
    if (request.method === "POST" && request.routeOptions.url === sessionPath) {
      const { token } = request.body as SessionBody;
      request.isLetIn ||= rightOfToken(access, token) !== null;
    }
    done();
  });
}

/** Adds the routes. */
export function addSessionRoutes(
  server: FastifyInstance,
  { access, sessions }: { readonly access: OpsAccess; readonly sessions: OpsSessions },
): void {
  server.get(sessionPath, async ({ admission, headers }) => {
    const { right = null, via = "nothing", user = null } = admission ?? {};
    const found = via === "session" ? sessions.find(headers.cookie) : null;
    return { right, via, user, ends_at: found === null ? null : new Date(found.endsAtMs).toISOString() };
  });
  server.post<{ Body: SessionBody }>(
    sessionPath,
    { schema: { body: sessionBody.schema } },
    async (request, reply) => {
      const { token, right: asked, by = null } = request.body;
      const right = rightOfToken(access, token);
      if (right === null) {
        reply.header("www-authenticate", challenge);
        return sendProblem(reply, "token_invalid", "This is not a token of the operators.");
      }
      if (asked === "act" && right !== "act")
        return sendProblem(reply, "right_missing", "The token gives the right to read alone.");
      const { session, cookie } = sessions.open({ right: asked ?? right, user: by });
      request.outcome = { right: session.right };
      const ends_at = new Date(session.endsAtMs).toISOString();
      return reply
        .header("set-cookie", cookie)
        .send({ right: session.right, via: "session", user: by, ends_at });
    },
  );
  server.delete(sessionPath, async ({ headers }, reply) =>
    reply
      .header("set-cookie", sessions.end(headers.cookie))
      .send({ right: null, via: "nothing", user: null, ends_at: null }),
  );
}
