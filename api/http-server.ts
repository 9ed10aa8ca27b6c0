// One HTTP surface: its routes, with the same conventions on all of them. Every answer has a `request-id`, which is in
// the logs; every refusal, including the platform's own, is a problem document with a stable code.

import { randomUUID } from "node:crypto";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { Server as NetServer } from "node:net";
import type { Duplex } from "node:stream";
import { setImmediate as immediate, setTimeout as wait } from "node:timers/promises";
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from "fastify";
import type { Clock } from "../crypto/port.ts";
import type { JsonObject } from "../protocol/json/canonical-json.ts";
import { publishBytesMax } from "../protocol/limits.ts";
import { type Problem, type ProblemCode, problem, problemMediaType } from "../protocol/problem.ts";
import { nearestName } from "../protocol/shape.ts";
import { refusedWith } from "../service/answer.ts";
import { authorityOf } from "../service/authentication/authenticate.ts";
import { failureAnswer } from "../service/failure.ts";
import type { RequestObserver } from "../service/request-observer.ts";
import { NotAnswered } from "../service/retrieval/receipts.ts";
import type { RequestTraces, Span } from "../std/tracing.ts";
import { leaveBodyUnread } from "./body.ts";
import type { Edge } from "./edge.ts";
import examples from "./examples.json" with { type: "json" };
import { bodyTimeMs } from "./http-limits.ts";
import { serveOneAtATime } from "./one-at-a-time.ts";
import { type Examples, type OpenApiInfo, openApi, openApiDocument, signedTerms } from "./open-api.ts";
import type { Docs } from "./pages/docs.ts";
import { docsRoutes } from "./pages/docs-routes.ts";
import {
  addressedHost,
  hostFields,
  isRefused,
  parseQuery,
  pathPattern,
  send,
  sendProblem,
  sourceOfRequest,
} from "./request-parts.ts";
import { answeredWith, type Method, type Route } from "./route.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Whether a signature states the host to which the request is addressed. */
    readonly isSigned?: boolean;
  }
  interface FastifyInstance {
    readonly edge: Edge;
  }
  interface FastifyReply {
    /** The code of the problem; null for an answer. */
    problemCode: ProblemCode | null;
    /** The registered or granted key that the request names, whatever became of the request; for the log. */
    keyId: string | null;
    /** The span of the request; null if it is not recorded. */
    span: Span | null;
  }
}

export interface HttpDeps {
  readonly logger: FastifyBaseLogger;
  readonly clock: Clock;
  readonly observer: RequestObserver;
  /** Absent or null where no trace is recorded. */
  readonly traces?: RequestTraces | null;
  /** The edge of the whole node. */
  readonly edge: Edge;
  /** The documentation, served beside the routes of every surface; absent where there is none. */
  readonly docs?: Docs;
  /** The hosts that unsigned requests may name, as `authorityOf` writes them; null for any. */
  readonly hosts: readonly string[] | null;
  /**
   * How long a closing server continues to serve open connections, with each answer the last one of its connection. A
   * caller whose connection simply ends cannot know what became of its request. Defaults to zero.
   */
  readonly leaveMs?: number;
}

interface Surface {
  readonly name: string;
  readonly info: OpenApiInfo;
  readonly routes: readonly Route[];
  /** Whether any origin may read every answer. */
  readonly isPublic: boolean;
  /** The longest time that a body of its routes may take (default: that of the longest publish request). */
  readonly bodyTimeMs?: number;
  /** The page that is sent in the place of a refusal, with the header fields that it sets; null where none is wanted. */
  readonly pageOf?: (
    request: FastifyRequest,
    reply: FastifyReply,
    refusal: Problem,
  ) => Promise<string | null>;
}

const keepAliveMs = 72_000;

/**
 * A surface that is not listening yet: its routes, its OpenAPI document, and problem documents (RFC 9457) for whatever
 * else is asked.
 */
export function buildServer(deps: HttpDeps, surface: Surface): FastifyInstance {
  const platform = platformAnswers(deps, surface);
  const { limits } = deps.edge;
  const { bodyTimeMs: longestMs = bodyTimeMs(limits, publishBytesMax) } = surface;
  const server = fastify({
    loggerInstance: deps.logger,
    // One line per answer, logged below; a logger of its own for every request would cost more than the line.
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (logger) => logger,
    // Random, since a counter would reveal the node's load to everybody.
    genReqId: () => randomUUID(),
    requestIdHeader: false,
    exposeHeadRoutes: false,
    forceCloseConnections: "idle",
    // A request that arrives on an open connection is handled like any other, and is the last one there.
    return503OnClosing: false,
    keepAliveTimeout: keepAliveMs,
    // Bodies have a time limit of their own. This one closes a connection that neither finishes nor fails.
    requestTimeout: limits.headTimeoutMs + Math.ceil(2 * longestMs),
    routerOptions: { maxParamLength: 1_024 },
    http: {
      maxHeaderSize: headBytesMax,
      headersTimeout: limits.headTimeoutMs,
      // A missing Host is refused together with every other fault of a head.
      requireHostHeader: false,
      connectionsCheckingInterval: 1_000,
    },
    clientErrorHandler: (error, socket) => answerClientError(error, socket, platform),
    frameworkErrors: (_error, request, reply) => {
      reply.header("request-id", request.id).header("x-content-type-options", "nosniff");
      // No hook runs before this answer, nor after it.
      const answer = reply as FastifyReply;
      if (surface.isPublic) allowAnyOrigin(answer);
      const refusal = problem("request_invalid", "The request target cannot be read.");
      const refuse = (page: string | null): unknown =>
        page === null
          ? sendProblem(answer, refusal)
          : answer.code(refusal.status).header("cache-control", "no-store").send(page);
      const page = surface.pageOf?.(request, answer, refusal) ?? Promise.resolve(null);
      void page.then(refuse, () => refuse(null));
    },
  });
  // Handlers read their own bodies, since what they accept depends on the caller.
  server.removeAllContentTypeParsers();
  server.addContentTypeParser("*", (_request, _payload, done) => done(null));
  server.decorate("edge", deps.edge);
  server.decorateReply("problemCode", null);
  server.decorateReply("keyId", null);
  server.decorateReply("span", null);
  serveOneAtATime(server.server, {
    accept: (connection) => deps.edge.accept(connection),
    requestsMax: limits.requestsPerConnectionMax,
  });
  takeOver(server.server, platform);
  const routes = withDocs(deps, surface);
  addManners(server, deps, surface);
  addRefusals(server, surface, { routes, hosts: deps.hosts });
  const { pageOf } = surface;
  if (pageOf !== undefined)
    server.addHook("onSend", async (request, reply, payload) =>
      reply.problemCode === null
        ? payload
        : ((await pageOf(request, reply, JSON.parse(String(payload)) as Problem)) ?? payload),
    );
  for (const route of routes)
    addRoute(server, traced(route, deps, surface), allowedBy(routesAt(routes, route.path)));
  const { leaveMs = 0 } = deps;
  if (leaveMs > 0) server.addHook("preClose", () => leave(server.server, leaveMs));
  server.setErrorHandler((error, request, reply) => answerError(error, request, reply));
  return server;
}

/** Stops accepting connections without closing any yet: `close` of an HTTP server would also close the idle ones. */
async function leave(server: Server, leaveMs: number): Promise<void> {
  // Waits until everything that arrived while this process was busy has been accepted.
  await immediate();
  NetServer.prototype.close.call(server);
  await wait(leaveMs);
}

function addManners(server: FastifyInstance, deps: HttpDeps, surface: Surface): void {
  server.addHook("onResponse", (request, reply, done) => {
    const answered = {
      request_id: request.id,
      surface: surface.name,
      method: request.method,
      route: request.routeOptions.url ?? "unmatched",
      status: reply.statusCode,
      code: reply.problemCode,
      durationMs: reply.elapsedTime,
      key_id: reply.keyId,
      from: sourceOfRequest(request.raw, deps.edge),
    };
    deps.observer.observe(answered);
    const { span } = reply;
    request.log.info(span === null ? answered : { ...answered, trace_id: span.traceId }, "answered");
    endSpan(span, answered);
    done();
  });
}

/**
 * What every answer has, and what is checked before any route: in a single hook, since each hook costs every request
 * something.
 */
function addRefusals(
  server: FastifyInstance,
  { isPublic }: Surface,
  { routes, hosts }: { readonly routes: readonly Route[]; readonly hosts: readonly string[] | null },
): void {
  server.addHook("onRequest", (request, reply, done) => {
    reply.header("request-id", request.id).header("x-content-type-options", "nosniff");
    if (isPublic) allowAnyOrigin(reply);
    const isSigned = request.routeOptions.config.isSigned === true;
    const fault = headFault(request.raw, isSigned) ?? (isSigned ? null : hostFault(request.raw, hosts));
    if (fault !== null) {
      leaveBodyUnread(request, reply);
      sendProblem(reply, fault);
    } else if (request.is404) answerUnmatched(routes, request, reply);
    else done();
  });
}

function platformAnswers(deps: HttpDeps, surface: Surface): PlatformAnswers {
  return {
    fields: () => ({
      "request-id": randomUUID(),
      "x-content-type-options": "nosniff",
      ...(surface.isPublic ? anyOrigin : {}),
    }),
    answered: ({ status, code }, { "request-id": id }) => {
      const answered = { surface: surface.name, method: "", route: "unmatched", status, code, durationMs: 0 };
      deps.observer.observe({ ...answered, key_id: null, from: null });
      deps.logger.info({ request_id: id, ...answered }, "refused before it was a request");
    },
  };
}

/** Specification, «Public verification API»: any origin, never with credentials. */
const anyOrigin: Readonly<Record<string, string>> = Object.freeze({
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "etag, location, request-id, retry-after",
});

function allowAnyOrigin(reply: FastifyReply): void {
  reply.headers(anyOrigin);
}

/** Where GET is allowed, HEAD is too (RFC 9110 §9.1): the platform omits the body of its answer. */
function methodsOf(method: Method): readonly string[] {
  return method === "GET" ? ["GET", "HEAD"] : [method];
}

function routesAt(routes: readonly Route[], path: string): readonly Route[] {
  return routes.filter((route) => pathPattern(route.path).test(path));
}

function allowedBy(routes: readonly Route[]): readonly string[] {
  const methods = routes.flatMap((route) => methodsOf(route.method));
  return routes.some((route) => route.isPublic) ? [...methods, "OPTIONS"] : methods;
}

function addRoute(server: FastifyInstance, route: Route, allowed: readonly string[]): void {
  const isPublic = route.isPublic === true;
  server.route({
    method: [...methodsOf(route.method)],
    url: route.path,
    config: { isSigned: route.tags.length > 0 },
    handler: (request, reply) => {
      if (isPublic) allowAnyOrigin(reply);
      return route.handle(request, reply);
    },
  });
  if (!isPublic || server.hasRoute({ method: "OPTIONS", url: route.path })) return;
  server.options(route.path, (_request, reply) => {
    allowAnyOrigin(reply);
    reply.header("allow", allowed.join(", "));
    reply.header("access-control-allow-methods", allowed.join(", "));
    reply.header("access-control-allow-headers", "accept, content-type, if-none-match");
    reply.header("access-control-max-age", "86400");
    return reply.code(204).send();
  });
}

/** With the documentation, which the OpenAPI document does not describe. */
function withDocs({ docs }: HttpDeps, surface: Surface): readonly Route[] {
  const described = withOpenApi(surface);
  if (docs === undefined) return described.routes;
  docs.describe(surface.name, described.document);
  const hasStart = described.routes.some(({ path }) => path === "/");
  return [...described.routes, ...docsRoutes(docs).filter(({ path }) => !hasStart || path !== "/")];
}

function withOpenApi(surface: Surface): {
  readonly routes: readonly Route[];
  readonly document: () => JsonObject;
} {
  const route: Route = {
    method: "GET",
    path: "/openapi.json",
    tags: [],
    isPublic: true,
    doc: {
      summary: "This document",
      answers: answeredWith("OpenAPI 3.1", openApiDocument, ["Cache-Control"]),
    },
    handle: async (request, reply) => {
      const query = parseQuery(request.raw.url ?? "", []);
      if (isRefused(query)) return send(reply, query);
      const headers = { "content-type": "application/json", "cache-control": "public, max-age=300" };
      return send(reply, { kind: "answer", status: 200, headers, body: bytes() });
    },
  };
  const routes = [...surface.routes, route];
  const described = routes.filter(({ isPage = false }) => !isPage);
  // The same bytes for all readers, so that what is being sent to many is in memory once; made for the first of them.
  let body: Uint8Array | null = null;
  const document = (): JsonObject => openApi(surface.info, described, signedTerms(examples as Examples));
  const bytes = (): Uint8Array => {
    body ??= Buffer.from(JSON.stringify(document()));
    return body;
  };
  return { routes, document };
}

function answerUnmatched(
  routes: readonly Route[],
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  leaveBodyUnread(request, reply);
  const path = request.url.split("?", 1)[0] ?? "/";
  const there = routesAt(routes, path);
  const allowed = allowedBy(there);
  if (there.some((route) => route.isPublic)) allowAnyOrigin(reply);
  if (allowed.length > 0 && !allowed.includes(request.method)) {
    reply.header("allow", allowed.join(", "));
    return sendProblem(
      reply,
      problem("method_not_allowed", `${request.method} is not allowed here.`, { allowed }),
    );
  }
  const suggestion = nearestName(path, [...new Set(routes.map((route) => route.path))]);
  return sendProblem(
    reply,
    problem("not_found", "This address does not exist here.", suggestion === null ? {} : { suggestion }),
  );
}

async function answerError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  if (error instanceof NotAnswered) {
    request.log.warn({ request_id: request.id, err: error }, "closed without an answer");
    reply.hijack();
    request.raw.socket.destroy();
    return reply;
  }
  const failure = failureAnswer(error);
  if (failure !== null) {
    request.log.warn({ request_id: request.id, err: error }, "not answered now");
    return send(reply, failure);
  }
  const code = platformCode(error);
  if (code !== null) {
    leaveBodyUnread(request, reply);
    return send(reply, refusedWith(code, "The request cannot be read."));
  }
  request.log.error({ request_id: request.id, err: error }, "failed");
  return send(
    reply,
    refusedWith("internal_error", "The service failed; its log has the cause under the request id."),
  );
}

/** Fastify's own refusals; null for anything thrown by us. */
function platformCode(error: unknown): ProblemCode | null {
  const code = error instanceof Error && "code" in error ? error.code : null;
  if (typeof code !== "string" || !code.startsWith("FST_ERR_")) return null;
  return code === "FST_ERR_CTP_INVALID_MEDIA_TYPE" ? "media_type_unsupported" : "request_invalid";
}

// The span of a request: from its route to the end of its answer. It names the route, never the path, and the request id that the
// answer and the log have.

/** The route, with what it does in the span of its request, if that is recorded. */
function traced(route: Route, { traces }: Pick<HttpDeps, "traces">, { name }: Surface): Route {
  if (traces === undefined || traces === null) return route;
  const about = {
    "svc.surface": name,
    "http.request.method": route.method,
    "http.route": route.path,
  };
  return {
    ...route,
    handle: (request, reply) => {
      // Several fields of this name are joined by a comma, and so are none.
      const { traceparent } = request.headers;
      const attributes = { ...about, "svc.request_id": request.id };
      const span = traces.receive(`${route.method} ${route.path}`, traceparent, attributes);
      if (span === null) return route.handle(request, reply);
      reply.span = span;
      return traces.tracer.within(span.traceparent, () => route.handle(request, reply));
    },
  };
}

function endSpan(
  span: Span | null,
  { status, code }: { readonly status: number; readonly code: ProblemCode | null },
): void {
  if (span === null) return;
  const attributes = {
    "http.response.status_code": status,
    ...(code === null ? {} : { "svc.problem.code": code }),
  };
  // A refusal is an answer like any other; only what the service could not do is a failure.
  span.end({ attributes, failure: status >= 500 ? (code ?? String(status)) : undefined });
}

// What the platform would otherwise answer in its own words, or not at all, is answered like everything else: as
// problems, with a request id, in the logs and in the metrics.
//   P1. A fault in a head is reported before any route is consulted. Only the Host of a signed request is left to its
//       signature, which covers it: a request with two of them is addressed to nobody.
//   P2. A request is answered once: a fault that later appears in its body closes the connection, since the proxy in
//       front could take a second answer for that of another request.

export const headBytesMax = 32_768;
const headFieldsMax = 1_000;

/** How a surface answers on a connection that has no request, or abandons it. */
export interface PlatformAnswers {
  /** The fields of every such answer, including a request id. */
  readonly fields: () => Readonly<Record<string, string>>;
  readonly answered: (found: Problem, fields: Readonly<Record<string, string>>) => void;
}

/** The latest response of each connection. */
const responses = new WeakMap<Duplex, { last: ServerResponse }>();

/** Takes over what the server would answer or refuse on its own. */
export function takeOver(server: Server, answers: PlatformAnswers): void {
  server.maxHeadersCount = headFieldsMax;
  server.prependListener("request", (request, response) => {
    const known = responses.get(request.socket);
    if (known === undefined) responses.set(request.socket, { last: response });
    else known.last = response;
  });
  server.on("checkContinue", (request, response) => {
    if (isExpectationMet(request)) response.writeContinue();
    server.emit("request", request, response);
  });
  // `headFault` then judges it, like everything else in a head.
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
  server.on("connect", (_request: IncomingMessage, socket: Duplex) => {
    socket.on("error", () => socket.destroy());
    // A tunnel is not a resource that has methods.
    answerAndEnd(socket, problem("method_not_allowed", "Tunnels are not supported."), answers, { allow: "" });
  });
}

/** A connection that never became a request: too slow, too long a head, or not HTTP. */
export function answerClientError(
  error: Error & { readonly code?: string },
  socket: Duplex,
  answers: PlatformAnswers,
): void {
  const response = responses.get(socket)?.last;
  if (error.code === "ECONNRESET" || !socket.writable) socket.destroy();
  else if (response?.req.complete === false && response.headersSent) socket.end();
  else answerAndEnd(socket, clientProblem(error.code ?? ""), answers);
}

function clientProblem(code: string): Problem {
  switch (code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return problem("request_timeout", "The request did not arrive in time.");
    case "HPE_HEADER_OVERFLOW":
      return problem(
        "header_too_large",
        `The headers are at most ${headBytesMax} bytes in ${headFieldsMax} fields.`,
      );
    case "HPE_INVALID_VERSION":
    case "HPE_PAUSED_H2_UPGRADE":
      return versionProblem();
    default:
      return problem("request_invalid", "This is not a valid HTTP request.");
  }
}

function answerAndEnd(
  socket: Duplex,
  found: Problem,
  { fields, answered }: PlatformAnswers,
  more: Readonly<Record<string, string>> = {},
): void {
  const body = JSON.stringify(found);
  const own = fields();
  const all = {
    connection: "close",
    "content-type": problemMediaType,
    "content-length": String(Buffer.byteLength(body)),
    "cache-control": "no-store",
    ...own,
    ...more,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${found.status} ${found.title}\r\n${lines.join("")}\r\n${body}`);
  answered(found, own);
}

/** Why a request's head alone refuses it; null if it does not. */
export function headFault(request: IncomingMessage, isSigned: boolean): Problem | null {
  const { httpVersion } = request;
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return versionProblem();
  if (!isHostPlain(request, isSigned)) {
    return problem("request_invalid", "A request must name its host in exactly one Host field.", {
      pointer: "/headers/host",
    });
  }
  if (isExpectationMet(request)) return null;
  const pointer = "/headers/expect";
  return problem("expectation_failed", "The only expectation that is supported is 100-continue.", {
    pointer,
  });
}

/**
 * The refusal of an unsigned request that names a foreign host, as a page does that uses DNS rebinding (RFC 9110
 * §15.5.20).
 */
export function hostFault(request: IncomingMessage, hosts: readonly string[] | null): Problem | null {
  const host = hosts === null ? null : addressedHost(request);
  if (hosts === null || host === null || hosts.includes(authorityOf(host))) return null;
  return problem("host_not_allowed", "This address is not served under the named host.", {
    pointer: "/headers/host",
  });
}

/** RFC 9110 §10.1.1: in HTTP/1.0 an expectation is ignored. */
function isExpectationMet({ headers, httpVersion }: IncomingMessage): boolean {
  return (
    headers.expect === undefined || httpVersion === "1.0" || headers.expect.toLowerCase() === "100-continue"
  );
}

/** RFC 9110 §7.2, RFC 3986 §3.2.2: a name or an address, and a port. */
const hostForm = /^(?:[a-z0-9._~!$&'()*+,;=%-]+|\[[0-9a-f:.]+\])(?::[0-9]*)?$/i;

/** RFC 9112 §3.2: one Host, of that form; HTTP/1.0 needs none. */
function isHostPlain(request: IncomingMessage, isSigned: boolean): boolean {
  const count = hostFields(request);
  if (count === 0) return request.httpVersion === "1.0";
  return isSigned || (count === 1 && hostForm.test(request.headers.host ?? ""));
}

function versionProblem(): Problem {
  const code: ProblemCode = "http_version_unsupported";
  return problem(code, "The surfaces speak HTTP/1.1.");
}
