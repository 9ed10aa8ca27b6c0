// One HTTP surface: its routes, and the same manners on all of them. Every answer has a `request-id`, which is in the
// logs; every refusal, the platform's own included, is a problem document with a stable code.

import type { Server } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import { setImmediate as immediate, setTimeout as wait } from "node:timers/promises";
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from "fastify";
import type { Clock } from "../crypto/port.ts";
import { nearestName } from "../protocol/nearest.ts";
import { type Problem, type ProblemCode, problem, problemMediaType } from "../protocol/problem.ts";
import { refused } from "../service/answer.ts";
import { failureAnswer } from "../service/failure.ts";
import type { RequestObserver } from "../service/request-observer.ts";
import type { AddressRange } from "../service/source-address.ts";
import { leaveBodyUnread } from "./body.ts";
import { type OpenApiInfo, openApi } from "./open-api.ts";
import { send, sendProblem } from "./reply.ts";
import type { Route } from "./route.ts";

export interface HttpDeps {
  readonly logger: FastifyBaseLogger;
  readonly clock: Clock;
  readonly observer: RequestObserver;
  /** Distinguishes this start of the node from every other; begins its request ids. */
  readonly incarnation: string;
  /** How long a request's head, and then its body, may take to arrive. */
  readonly headTimeoutMs?: number;
  readonly bodyTimeoutMs?: number;
  /** Addresses of the proxies whose X-Forwarded-For is believed; none by default. */
  readonly trustedProxies?: readonly AddressRange[];
  /**
   * How long a server that closes serves the connections that are open, each answer the last one of its connection. A
   * caller whose connection just ends cannot know what became of its request. None by default.
   */
  readonly leaveMs?: number;
}

export interface Surface {
  readonly name: string;
  readonly info: OpenApiInfo;
  readonly routes: readonly Route[];
  /** Every answer may be read by any origin. */
  readonly isPublic: boolean;
}

export const headTimeoutMsDefault = 15_000;
export const bodyTimeoutMsDefault = 60_000;
const headBytesMax = 32_768;
const keepAliveMs = 72_000;

export function buildServer(deps: HttpDeps, surface: Surface): FastifyInstance {
  const nextId = requestIds(deps, surface.name);
  const server = fastify({
    loggerInstance: deps.logger,
    // One line an answer, made below; a logger of its own for every request would cost more than the line.
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (logger) => logger,
    genReqId: nextId,
    requestIdHeader: false,
    exposeHeadRoutes: false,
    forceCloseConnections: "idle",
    // What still comes over a connection that is open is a request like any other, and the last one there.
    return503OnClosing: false,
    keepAliveTimeout: keepAliveMs,
    // Bodies have their own, longer, time: see bodyTimeoutMs. This one ends a connection that neither finishes nor fails.
    requestTimeout:
      (deps.headTimeoutMs ?? headTimeoutMsDefault) + 10 * (deps.bodyTimeoutMs ?? bodyTimeoutMsDefault),
    routerOptions: { maxParamLength: 1_024 },
    http: {
      maxHeaderSize: headBytesMax,
      headersTimeout: deps.headTimeoutMs ?? headTimeoutMsDefault,
      connectionsCheckingInterval: 1_000,
    },
    clientErrorHandler: (error, socket) => answerClientError(error, socket, nextId()),
    frameworkErrors: (_error, request, reply) => {
      reply.header("request-id", request.id);
      // No hook runs before this answer.
      if (surface.isPublic) allowAnyOrigin(reply as FastifyReply);
      return sendProblem(
        reply as FastifyReply,
        problem("request_invalid", "The request target cannot be read."),
      );
    },
  });
  // Handlers read their own bodies, for what they accept depends on who asks.
  server.removeAllContentTypeParsers();
  server.addContentTypeParser("*", (_request, _payload, done) => done(null));
  addManners(server, deps, surface);
  for (const route of withOpenApi(surface)) addRoute(server, route);
  const { leaveMs = 0 } = deps;
  if (leaveMs > 0) server.addHook("preClose", () => leave(server.server, leaveMs));
  server.setNotFoundHandler((request, reply) => answerUnmatched(surface, request, reply));
  server.setErrorHandler((error, request, reply) => answerError(error, request, reply));
  return server;
}

/** Takes no new connections, and closes none yet: `close` of an HTTP server would end the idle ones with it. */
async function leave(server: Server, leaveMs: number): Promise<void> {
  // After all that came while this process was busy was taken.
  await immediate();
  NetServer.prototype.close.call(server);
  await wait(leaveMs);
}

function requestIds(deps: HttpDeps, surface: string): () => string {
  let count = 0;
  return () => {
    count += 1;
    return `${surface}-${deps.incarnation}-${count.toString(36)}`;
  };
}

function addManners(server: FastifyInstance, deps: HttpDeps, surface: Surface): void {
  server.addHook("onRequest", (request, reply, done) => {
    reply.header("request-id", request.id);
    if (surface.isPublic) allowAnyOrigin(reply);
    done();
  });
  server.addHook("onResponse", (request, reply, done) => {
    const answered = {
      surface: surface.name,
      method: request.method,
      route: request.routeOptions.url ?? "unmatched",
      status: reply.statusCode,
      durationMs: reply.elapsedTime,
    };
    deps.observer.observe(answered);
    request.log.info({ request_id: request.id, ...answered }, "answered");
    done();
  });
}

/** Specification, «Public verification API»: any origin, never with credentials. */
function allowAnyOrigin(reply: FastifyReply): void {
  reply.header("access-control-allow-origin", "*");
  reply.header("access-control-expose-headers", "etag, location, request-id, retry-after");
}

function addRoute(server: FastifyInstance, route: Route): void {
  const isPublic = route.isPublic === true;
  server.route({
    method: route.method,
    url: route.path,
    handler: (request, reply) => {
      if (isPublic) allowAnyOrigin(reply);
      return route.handle(request, reply);
    },
  });
  if (!isPublic || server.hasRoute({ method: "OPTIONS", url: route.path })) return;
  server.options(route.path, (_request, reply) => {
    allowAnyOrigin(reply);
    reply.header("access-control-allow-methods", `${route.method}, OPTIONS`);
    reply.header("access-control-allow-headers", "accept, content-type, if-none-match");
    reply.header("access-control-max-age", "86400");
    return reply.code(204).send();
  });
}

function withOpenApi(surface: Surface): readonly Route[] {
  const text = JSON.stringify(openApi(surface.info, surface.routes));
  const route: Route = {
    method: "GET",
    path: "/openapi.json",
    tags: [],
    isPublic: true,
    doc: { summary: "This document", answers: { 200: { description: "OpenAPI 3.1" } } },
    handle: async (_request, reply) => {
      const headers = { "content-type": "application/json", "cache-control": "public, max-age=300" };
      return send(reply, { kind: "answer", status: 200, headers, body: text });
    },
  };
  return [...surface.routes, route];
}

async function answerUnmatched(
  surface: Surface,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  leaveBodyUnread(request, reply);
  const path = request.url.split("?", 1)[0] ?? "/";
  const there = surface.routes.filter((route) => pathPattern(route.path).test(path));
  const allowed = there.map((route) => route.method);
  if (there.some((route) => route.isPublic)) allowAnyOrigin(reply);
  if (allowed.length > 0) {
    reply.header("allow", allowed.join(", "));
    return sendProblem(
      reply,
      problem("method_not_allowed", `${request.method} is not allowed here.`, { allowed }),
    );
  }
  const suggestion = nearestName(path, [...new Set(surface.routes.map((route) => route.path))]);
  return sendProblem(
    reply,
    problem("not_found", "There is no such address here.", suggestion === null ? {} : { suggestion }),
  );
}

function pathPattern(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/:[a-z_]+/g, "[^/]+")}$`);
}

async function answerError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const failure = failureAnswer(error);
  if (failure !== null) {
    request.log.warn({ request_id: request.id, err: error }, "not answered now");
    return send(reply, failure);
  }
  const code = platformCode(error);
  if (code !== null) {
    leaveBodyUnread(request, reply);
    return send(reply, refused(problem(code, "The request cannot be read.")));
  }
  request.log.error({ request_id: request.id, err: error }, "failed");
  return send(
    reply,
    refused(problem("internal_error", "The service failed; the request id names what happened.")),
  );
}

/** Fastify's own refusals; null for anything that was thrown by us. */
function platformCode(error: unknown): ProblemCode | null {
  const code = error instanceof Error && "code" in error ? error.code : null;
  if (typeof code !== "string" || !code.startsWith("FST_ERR_")) return null;
  return code === "FST_ERR_CTP_INVALID_MEDIA_TYPE" ? "media_type_unsupported" : "request_invalid";
}

/** A connection that never became a request: too slow, too long a head, or no HTTP. */
function answerClientError(
  error: Error & { readonly code?: string },
  socket: Socket,
  requestId: string,
): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const found = clientProblem(error.code ?? "");
  const body = JSON.stringify(found);
  socket.end(
    `HTTP/1.1 ${found.status} ${found.title}\r\nconnection: close\r\ncontent-type: ${problemMediaType}\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nrequest-id: ${requestId}\r\n\r\n${body}`,
  );
}

function clientProblem(code: string): Problem {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return problem("request_timeout", "The request did not arrive in time.");
  if (code === "HPE_HEADER_OVERFLOW")
    return problem("header_too_large", `The headers are at most ${headBytesMax} bytes.`);
  return problem("request_invalid", "This is no HTTP request.");
}
