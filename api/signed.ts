// Handler of a signed route: checks 1 to 4, then the body, then checks 5 to 7, then the answer.
//   H1. A body is read only after checks 1 to 4; one over its limit is 413 then, with its nonce unused.
//   H2. Whatever is wrong with the request itself is said only after its nonce was claimed, for a replay is told
//       `nonce_reused` before anything else.

import type { FastifyRequest } from "fastify";
import { problem } from "../protocol/problem.ts";
import { type Outcome, type Refused, refused } from "../service/answer.ts";
import {
  type AcceptedCallers,
  type Authenticated,
  type AuthenticationDeps,
  authenticateBody,
  authenticateHead,
} from "../service/authenticate.ts";
import { type BodyLimits, closeUnread, hasBody, leaveBodyUnread, readBody } from "./body.ts";
import { send } from "./reply.ts";
import { isRefused, parseQuery, type Query, requestHead } from "./request-parts.ts";
import type { Route } from "./route.ts";

export interface SignedCall<N extends string = never> {
  readonly authenticated: Authenticated;
  readonly body: Uint8Array;
  readonly query: Query<N>;
  readonly request: FastifyRequest;
  /** Unix milliseconds. */
  readonly arrivedAtMs: number;
}

export interface SignedRoute<N extends string> {
  readonly authentication: AuthenticationDeps;
  readonly accepted: AcceptedCallers;
  readonly limits: BodyLimits;
  /** Query parameters that the route has; any other is refused. */
  readonly queryNames: readonly N[];
  /** True for an answer that waits for the nonce itself, while it works. */
  readonly claimsMeanwhile: boolean;
  readonly answer: (call: SignedCall<N>) => Promise<Outcome>;
}

export function signedHandler<N extends string>(route: SignedRoute<N>): Route["handle"] {
  const { authentication, accepted, limits } = route;
  return async (request, reply) => {
    const arrivedAtMs = authentication.clock.now();
    const maybe = authenticateHead(authentication, accepted, requestHead(request.raw));
    const candidate = maybe instanceof Promise ? await maybe : maybe;
    if (candidate.kind === "problem") {
      leaveBodyUnread(request, reply);
      return send(reply, candidate);
    }
    reply.keyId = candidate.key.key_id;
    const body = await readBody(request.raw, limits);
    if (!body.ok) {
      closeUnread(request, reply);
      return send(reply, refused(body.problem));
    }
    const checked = authenticateBody(authentication, candidate, body.bytes);
    const authenticated = checked instanceof Promise ? await checked : checked;
    if (authenticated.kind === "problem") return send(reply, authenticated);
    const call = { authenticated, body: body.bytes, request, arrivedAtMs };
    return send(reply, await answerOf(route, call), authenticated.headers);
  };
}

async function answerOf<N extends string>(
  route: SignedRoute<N>,
  call: Omit<SignedCall<N>, "query">,
): Promise<Outcome> {
  const fault = mediaTypeFault(call.request);
  const query = parseQuery(call.request.raw.url ?? "", route.queryNames);
  const isAnswered = fault === null && !isRefused(query);
  if (route.claimsMeanwhile && isAnswered) return route.answer({ ...call, query });
  const reused = await call.authenticated.claimNonce().claimed;
  if (reused !== null) return reused;
  if (isAnswered) return route.answer({ ...call, query });
  return fault ?? (query as Refused);
}

function mediaTypeFault(request: FastifyRequest): Refused | null {
  if (isJsonOrSilent(request)) return null;
  const pointer = "/headers/content-type";
  return refused(problem("media_type_unsupported", "The body is application/json.", { pointer }));
}

/** A body without Content-Type is taken for what the route expects. */
function isJsonOrSilent(request: FastifyRequest): boolean {
  const type = request.headers["content-type"];
  if (type === undefined || !hasBody(request.raw)) return true;
  return /^application\/(?:[a-z0-9.+-]+\+)?json\s*(?:;|$)/i.test(type);
}
