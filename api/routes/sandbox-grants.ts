// POST /v1/sandbox/grants: how a newcomer's own key enters the sandbox. Production has no such address.

import type { SignatureTag } from "../../protocol/http-signature.ts";
import { grantBytesMax } from "../../protocol/limits.ts";
import { grantAnswer, grantQuestion } from "../../protocol/wire/grant.ts";
import { type Outcome, parseJsonBody, refused } from "../../service/answer.ts";
import type { AddressRate } from "../../service/authentication/request-rate.ts";
import type { IssueSandboxGrant } from "../../service/authentication/sandbox-grants.ts";
import { type BodyLimits, closeUnread, leaveBodyUnread, readBody } from "../body.ts";
import type { Edge } from "../edge.ts";
import { isRefused, parseQuery, requestHead, send } from "../request-parts.ts";
import { answeredWith, type Route, type RouteDoc } from "../route.ts";

export interface SandboxGrantRouteDeps {
  readonly issue: IssueSandboxGrant;
  readonly rate: AddressRate;
  /** The `@authority` values of the surface, and its own tag. */
  readonly authorities: readonly string[];
  readonly tag: SignatureTag;
  readonly edge: Edge;
}

const doc: RouteDoc = {
  summary: "A sandbox grant for a key of your own",
  description:
    "Sandbox only. The key that the grant is for signs the request, which proves its possession, and gets a new party; if it asks again, it gets the same one. A registered key gets the grant of its own party. Nothing is stored: the first request with the grant registers the key. The nonce is not claimed.",
  body: grantQuestion,
  answers: answeredWith("`grant` is sent as `SVC-Sandbox-Key` with every request of the key", grantAnswer, [
    "Cache-Control",
  ]),
  problems: ["request_invalid", "record_too_large", "request_timeout"],
};

/** `POST /v1/sandbox/grants`: introduces a party of a sandbox with a key of its own; production has no such route. */
export function sandboxGrantRoute(deps: SandboxGrantRouteDeps): Route {
  const limits: BodyLimits = { bytesMax: grantBytesMax, edge: deps.edge };
  const answer = async (request: Parameters<Route["handle"]>[0], body: Uint8Array): Promise<Outcome> => {
    const query = parseQuery(request.raw.url ?? "", []);
    if (isRefused(query)) return query;
    const read = parseJsonBody(grantQuestion, body);
    if ("kind" in read) return read;
    const question = read.value;
    const accepted = { authorities: deps.authorities, tags: [deps.tag] };
    return deps.issue({ head: requestHead(request.raw), body, question, accepted });
  };
  return {
    method: "POST",
    path: "/v1/sandbox/grants",
    tags: [deps.tag],
    doc,
    handle: async (request, reply) => {
      const limited = deps.rate.take(request.ip);
      if (limited !== null) {
        leaveBodyUnread(request, reply);
        return send(reply, limited);
      }
      const body = await readBody(request.raw, limits, request.ip);
      if (!body.ok) {
        closeUnread(request, reply);
        return send(reply, refused(body.problem));
      }
      try {
        return send(reply, await answer(request, body.bytes));
      } finally {
        body.release();
      }
    },
  };
}
