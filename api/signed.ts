// The handler of a signed route: checks 1 to 4 and 6, then the body, then checks 5 and 7, then the answer.
//   H1. A body is read only after checks 1 to 4; one over its limit is then refused with 413, its nonce unused. A long
//       body is read only after check 6 as well, which needs only the head; a short one is read in any case, so that
//       check 5 is answered before check 6.
//   H2. Heads and signatures are judged in turns that go round the addresses, since a forged signature costs its sender nothing;
//       signatures of one turn together, in a thread (crypto/turn-lists.ts).
//   H3. A fault in the request itself is reported only after its nonce was claimed, since a replay is refused with
//       `nonce_reused` before anything else.

import type { FastifyReply, FastifyRequest } from "fastify";
import { toBase64 } from "../protocol/bytes.ts";
import { parseContentDigest, type SignatureTag } from "../protocol/http-signature.ts";
import { idempotencyKeyPattern, requestBytesMax } from "../protocol/limits.ts";
import type { Problem } from "../protocol/problem.ts";
import { type Outcome, type Refused, refused, refusedWith } from "../service/answer.ts";
import {
  type AcceptedCallers,
  type Authenticated,
  type AuthenticationDeps,
  authenticateBody,
  authenticateHead,
  type Candidate,
  forged,
  type Judged,
  judgeSignature,
} from "../service/authentication/authenticate.ts";
import type { MaybeLater } from "../service/register/register.ts";
import {
  type BodyLimits,
  closeUnread,
  declaredLength,
  hasBody,
  leaveBodyUnread,
  lengthFault,
  readBody,
} from "./body.ts";
import { checkOf } from "./checks.ts";
import type { HttpDeps } from "./http-server.ts";
import {
  isRefused,
  parseQuery,
  type Query,
  requestHead,
  send,
  single,
  sourceOfRequest,
} from "./request-parts.ts";
import type { Method, Parameter, Route, RouteDoc } from "./route.ts";

export interface SignedCall<N extends string = never> {
  readonly authenticated: Authenticated;
  /** Who takes up what the request takes up: see {@link holderOfBody}. */
  readonly holder: string;
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
  /** Judges the media type of a body; by default it is JSON. */
  readonly mediaTypeFault?: (request: FastifyRequest) => Refused | null;
  /** The query parameters that the route has; any other is refused. */
  readonly queryNames: readonly N[];
  /** True for an answer that waits for the nonce itself, while it works. */
  readonly claimsMeanwhile: boolean;
  readonly answer: (call: SignedCall<N>) => Promise<Outcome>;
}

/**
 * Answers a request whose signature, nonce and digest are genuine (specification, «Authentication»); refuses any other
 * before its body is read.
 */
export function signedHandler<N extends string>(route: SignedRoute<N>): Route["handle"] {
  const { authentication, accepted, limits } = route;
  return async (request, reply) => {
    const arrivedAtMs = authentication.clock.now();
    const { owner } = checkOf(request.raw, limits.edge);
    const judging = limits.edge.signatures(owner, () =>
      judgeHead(authentication, accepted, { request, owner }),
    );
    const judged = judging instanceof Promise ? await judging : judging;
    if ("problem" in judged) {
      reply.keyId = judged.keyId ?? null;
      leaveBodyUnread(request, reply);
      return send(reply, judged);
    }
    const { candidate } = judged;
    const keyId = candidate.key.key_id;
    reply.keyId = keyId;
    const fault = lengthFault(request.raw, limits);
    if (fault !== null) return refuseUnread(request, reply, fault);
    if (!judged.isGenuine && !isSoonRead(request)) {
      leaveBodyUnread(request, reply);
      return send(reply, forged());
    }
    const holder = holderOfBody(authentication, candidate, owner);
    const reading = readBody(request.raw, limits, holder);
    const body = reading instanceof Promise ? await reading : reading;
    if (!body.ok) return refuseUnread(request, reply, body.problem);
    try {
      const digest = candidate.parts.contentDigest === null ? null : body.sha256();
      const checked = authenticateBody(authentication, judged, digest);
      const authenticated = checked instanceof Promise ? await checked : checked;
      const outcome =
        authenticated.kind === "problem"
          ? authenticated
          : await answerOf(route, { authenticated, holder, body: body.bytes, request, arrivedAtMs });
      if (authenticated.kind !== "problem" && !isReplayed(outcome))
        authentication.networks?.note(authenticated.caller, sourceOfRequest(request.raw, limits.edge));
      if (judged.isGenuine && authentication.limitFields !== null)
        reply.headers(authentication.limitFields(keyId));
      return send(reply, outcome, authenticated.headers);
    } finally {
      body.release();
    }
  };
}

function isReplayed(outcome: Outcome): boolean {
  return outcome.kind === "problem" && outcome.problem.code === "nonce_reused";
}

/**
 * Whose room a body takes: all keys of a party share what it may hold. In a sandbox a party costs nothing, so what counts is the
 * address that it comes from, where a proxy tells it.
 */
export function holderOfBody(
  { grantSigner }: Pick<AuthenticationDeps, "grantSigner">,
  {
    party,
    key,
  }: { readonly party: { readonly uuid: string } | null; readonly key: { readonly key_id: string } },
  address: string,
): string {
  return grantSigner === null || address === "" ? (party?.uuid ?? key.key_id) : address;
}

/** Checks 1 to 4, and 6. */
function judgeHead(
  authentication: AuthenticationDeps,
  accepted: AcceptedCallers,
  { request, owner }: { readonly request: FastifyRequest; readonly owner: string },
): MaybeLater<Judged | Refused> {
  const judge = (candidate: Candidate | Refused): MaybeLater<Judged | Refused> =>
    candidate.kind === "problem" ? candidate : judgeSignature(authentication, candidate, owner);
  const maybe = authenticateHead(authentication, accepted, requestHead(request.raw));
  return maybe instanceof Promise ? maybe.then(judge) : judge(maybe);
}

/** A longer body is read only for a genuine signature. */
const soonReadBytesMax = 16_384;

/**
 * Whether reading the body is so cheap that a forged signature gets the body's refusal first, in the order of the
 * checks.
 */
function isSoonRead({ raw }: FastifyRequest): boolean {
  const length = declaredLength(raw);
  return !hasBody(raw) || (length !== null && length <= soonReadBytesMax);
}

function refuseUnread(request: FastifyRequest, reply: FastifyReply, fault: Problem): FastifyReply {
  closeUnread(request, reply);
  return send(reply, refused(fault));
}

async function answerOf<N extends string>(
  route: SignedRoute<N>,
  call: Omit<SignedCall<N>, "query">,
): Promise<Outcome> {
  const fault = coded(call.request) ?? (route.mediaTypeFault ?? notJson)(call.request);
  const query = parseQuery(call.request.raw.url ?? "", route.queryNames);
  const isAnswered = fault === null && !isRefused(query);
  if (route.claimsMeanwhile && isAnswered) return route.answer({ ...call, query });
  const reused = await call.authenticated.claimNonce().claimed;
  if (reused !== null) return reused;
  if (isAnswered) return route.answer({ ...call, query });
  return fault ?? (query as Refused);
}

/** No coding of a body is undone here, so a body that says it has one is not what the route expects (RFC 9110 §15.5.16). */
function coded({ headers, raw }: FastifyRequest): Refused | null {
  const coding = headers["content-encoding"];
  if (coding === undefined || coding === "identity" || !hasBody(raw)) return null;
  const pointer = "/headers/content-encoding";
  const detail = "A body is sent as it is, without a content coding.";
  return refusedWith("media_type_unsupported", detail, { pointer }, { "accept-encoding": "identity" });
}

function notJson(request: FastifyRequest): Refused | null {
  if (isJsonOrSilent(request)) return null;
  const pointer = "/headers/content-type";
  return refusedWith("media_type_unsupported", "The body must be application/json.", { pointer });
}

/** A body without Content-Type is assumed to be what the route expects. */
function isJsonOrSilent(request: FastifyRequest): boolean {
  const type = request.headers["content-type"];
  if (type === undefined || !hasBody(request.raw)) return true;
  return /^application\/(?:[a-z0-9.+-]+\+)?json\s*(?:;|$)/i.test(type);
}

// What the signed routes of the business surface have in common: whom they accept, and how a repeated request is
// recognised.

export const idempotencyKey: Parameter = {
  name: "Idempotency-Key",
  in: "header",
  required: true,
  description:
    "Sending the same key with the same request replays the first answer for 24 hours: what was done, or a refusal that follows from the request alone (400, 413, 415 and `type_not_publishable`). Any other refusal is judged again.",
  schema: { type: "string", pattern: idempotencyKeyPattern.source },
};

/** One form for the same digest, however the verified header spelled it. */
function verifiedDigest(request: FastifyRequest): string {
  const digest = parseContentDigest(single(request.headers["content-digest"]) ?? "");
  return digest === null ? "" : `sha-256=:${toBase64(digest)}:`;
}

// The routes of the signed surfaces: those of a business take any live integration key, those of an AI company any live
// retrieval key.

/** What every signed route needs. */
export interface Callers {
  readonly http: Pick<HttpDeps, "edge">;
  readonly authentication: AuthenticationDeps;
  /** The `@authority` values of the surface: host[:port], lower case, without a default port. */
  readonly authorities: readonly string[];
}

interface Answering<N extends string>
  extends Pick<SignedRoute<N>, "mediaTypeFault" | "answer">,
    Partial<Pick<SignedRoute<N>, "queryNames" | "claimsMeanwhile">>,
    Partial<Pick<BodyLimits, "bytesMax" | "reason">> {}

/** A read of the caller's own business, signed with the tag `svc-business-read`. */
export function businessRead<N extends string>(
  callers: Callers,
  path: string,
  doc: RouteDoc,
  queryNames: readonly N[],
  answer: SignedRoute<N>["answer"],
): Route {
  return signedRoute(callers, { method: "GET", path, tag: "svc-business-read", doc }, { queryNames, answer });
}

/** What changes something of the caller's own business, signed with the tag `svc-push`. */
export function businessPush<N extends string = never>(
  callers: Callers,
  path: string,
  doc: RouteDoc,
  answering: Answering<N>,
): Route {
  return signedRoute(callers, { method: "POST", path, tag: "svc-push", doc }, answering);
}

/** What an AI company asks for or does, signed with the tag `svc-retrieval`. */
export function companyRoute<N extends string = never>(
  callers: Callers,
  method: Method,
  path: string,
  doc: RouteDoc,
  answering: Answering<N>,
): Route {
  return signedRoute(callers, { method, path, tag: "svc-retrieval", doc }, answering);
}

function signedRoute<N extends string>(
  { http, authentication, authorities }: Callers,
  { tag, ...described }: Pick<Route, "method" | "path" | "doc"> & { readonly tag: SignatureTag },
  { bytesMax = requestBytesMax, reason, queryNames = [], claimsMeanwhile = false, ...rest }: Answering<N>,
): Route {
  const isCompanys = tag === "svc-retrieval";
  return {
    ...described,
    tags: [tag],
    handle: signedHandler({
      authentication,
      accepted: {
        authorities,
        tags: [tag],
        roles: [isCompanys ? "retrieval" : "integration"],
        bearer: isCompanys,
      },
      limits: { bytesMax, edge: http.edge, ...(reason === undefined ? {} : { reason }) },
      queryNames,
      claimsMeanwhile,
      ...rest,
    }),
  };
}

/** What services take of a request that is answered once under its Idempotency-Key. */
export function sentIn(
  { authenticated, body, request }: SignedCall<string>,
  { http }: Pick<Callers, "http">,
) {
  return {
    caller: authenticated.caller,
    idempotencyKey: single(request.headers["idempotency-key"]),
    contentDigest: verifiedDigest(request),
    body,
    sourceIp: sourceOfRequest(request, http.edge),
  };
}
