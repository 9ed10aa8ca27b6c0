// The operators' surface: health, readiness, metrics, and any actor's state as its running machine has it. Every refusal,
// including the platform's own, is a problem document, as on every surface.

import fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from "fastify";
import { leaveBodyUnread } from "../api/body.ts";
import { createEdge } from "../api/edge.ts";
import {
  answerClientError,
  headBytesMax,
  headFault,
  type PlatformAnswers,
  takeOver,
} from "../api/http-server.ts";
import { serveOneAtATime } from "../api/one-at-a-time.ts";
import { openApiDocument } from "../api/open-api.ts";
import type { Docs } from "../api/pages/docs.ts";
import { answerDocs, docsPaths } from "../api/pages/docs-routes.ts";
import { addressedHost, pathPattern } from "../api/request-parts.ts";
import { anyText } from "../protocol/shape.ts";
import type { OperatorCampaigns } from "../service/ads/campaign-renders.ts";
import { failureAnswer } from "../service/failure.ts";
import type { OperatorLedgers } from "../service/money/ledgers.ts";
import type { OperatorApplications } from "../service/portal/applications.ts";
import type { OperatorRecoveries } from "../service/portal/recoveries.ts";
import type { HeldDeletions } from "../service/publishing/purges.ts";
import type { Blocks, Brands } from "../service/register/blocks.ts";
import type { Enrolment } from "../service/register/enrolment.ts";
import type { Revocations } from "../service/register/revocations.ts";
import type { Takedowns } from "../service/register/takedowns.ts";
import { type AuditLog, addAudit, rightFor, sendProblem } from "./acts.ts";
import { type ActorActing, actorActRoutes, type ClusterOps, clusterRoutes } from "./cluster.ts";
import {
  challenge,
  createOpsSessions,
  judgeOpsRequest,
  type OpsAccess,
  type OpsRefusal,
  type OpsSessions,
  sessionPath,
} from "./guard.ts";
import { type Inspection, inspectionRoutes } from "./inspection.ts";
import { campaignRoutes, ledgerRoutes } from "./ledgers.ts";
import { type ListActs, listRoutes } from "./lists.ts";
import { type LiveTiming, LiveViews, liveRoutes } from "./live.ts";
import type { Metrics, Reading } from "./metrics.ts";
import { openApiOf } from "./open-api.ts";
import { addPages } from "./pages/routes.ts";
import { signInPath, uiBase } from "./pages/views/frame.ts";
import { applicationRoutes, partyRoutes, recoveryRoutes } from "./parties.ts";
import { revocationRoutes } from "./revocations.ts";
import { addRoutes, type OpsRoute, read } from "./route.ts";
import { judgeOpenings, sessionRoutes } from "./session-routes.ts";
import { health, type ReadyReport, readyReport, type StalledPush, stalledPushes } from "./shapes.ts";
import {
  blockRoutes,
  brandRoutes,
  heldDeletionRoutes,
  type PurgeReads,
  purgeRoutes,
  takedownRoutes,
} from "./takedowns.ts";

export interface OpsDeps {
  readonly logger: FastifyBaseLogger;
  /** The documentation, which is served here as on every surface; absent where there is none. */
  readonly docs?: Docs;
  /** The prefix of the request ids of this run of the node. */
  readonly incarnation: string;
  readonly access: OpsAccess;
  /** The clock of sessions: Unix milliseconds. */
  readonly nowMs?: () => number;
  readonly metrics: Metrics;
  readonly readings: () => readonly Reading[] | Promise<readonly Reading[]>;
  readonly ready: () => Promise<ReadyReport>;
  readonly inspection: Inspection;
  readonly acting: ActorActing;
  readonly live?: LiveTiming | undefined;
  /** The pushes that stall on this node, those that stall longest first. */
  readonly stalledPushes: () => readonly StalledPush[];
  readonly purges: PurgeReads;
  readonly revocations: Revocations;
  readonly enrolment: Enrolment;
  readonly applications: OperatorApplications;
  readonly recoveries: OperatorRecoveries;
  readonly ledgers: OperatorLedgers;
  readonly blocks: Blocks;
  readonly brands: Brands;
  readonly takedowns: Takedowns;
  readonly campaigns: OperatorCampaigns;
  readonly heldDeletions: HeldDeletions;
  readonly lists: ListActs;
  /** Where actions are recorded. */
  readonly audit: AuditLog;
  /** What operators may do to the cluster; null if the node is standalone. */
  readonly cluster: ClusterOps | null;
}

const listLimit = 100;
/** Ids of mandates have up to 128 characters, each of which may take three when percent-encoded. */
const paramLengthMax = 1_024;
/** Any other query parameter is refused. */
const noQuery = { type: "object", properties: {}, additionalProperties: false } as const;

/** These limits are separate, so that a flood on the other surfaces cannot lock out an operator. */
const limits = { connectionsMax: 64, connectionsPerAddressMax: 0 };
const requestTimeoutMs = 30_000;
/** An action may have to ask every region before it is answered. */
const answerTimeoutMs = 90_000;

/** A browser keeps nothing, and takes nothing for another media type. */
const everyAnswer = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;

export function buildOps(deps: OpsDeps): FastifyInstance {
  const nextId = requestIds(deps.incarnation);
  const platform = platformAnswers(deps.logger, nextId);
  const server = fastify({
    loggerInstance: deps.logger,
    logController: new LogController({ disableRequestLogging: true }),
    requestIdHeader: false,
    exposeHeadRoutes: true,
    forceCloseConnections: true,
    // Time-outs for a request that does not arrive whole, and for an answer that is not read.
    requestTimeout: requestTimeoutMs,
    connectionTimeout: answerTimeoutMs,
    routerOptions: { maxParamLength: paramLengthMax },
    // Input that is not understood is refused, never silently changed into something else.
    ajv: {
      customOptions: {
        removeAdditional: false,
        coerceTypes: false,
        useDefaults: false,
        // Of envelopes: it is judged where one is opened.
        keywords: ["dependentRequired"],
      },
    },
    genReqId: nextId,
    // A missing Host is refused together with everything else that is wrong with a head.
    http: { maxHeaderSize: headBytesMax, requireHostHeader: false },
    clientErrorHandler: (error, socket) => answerClientError(error, socket, platform),
    frameworkErrors: (_error, request, reply) => {
      reply.headers({ ...everyAnswer, "request-id": request.id });
      return sendProblem(reply as FastifyReply, "request_invalid", "The request target cannot be read.");
    },
  });
  const edge = createEdge({ limits });
  serveOneAtATime(server.server, { accept: (connection) => edge.accept(connection) });
  takeOver(server.server, platform);
  const methods = methodsByPath(server);
  // The default for an address that defines no query of its own.
  server.addHook("onRoute", (route) => {
    route.schema = { querystring: noQuery, ...route.schema };
  });
  const { access, nowMs = Date.now } = deps;
  const sessions = createOpsSessions({ nowMs, isSecure: !access.isLoopback });
  addManners(server, access, sessions);
  judgeOpenings(server, access);
  addAudit(server, deps.audit);
  // The check runs before a body is read, which nobody would look at.
  server.addHook("onRequest", (request, reply, done) => {
    if (request.is404) answerUnmatched(methods, request, reply);
    else done();
  });
  const views = new LiveViews(deps.live);
  server.addHook("preClose", (done) => {
    views.close();
    done();
  });
  const routes = opsRoutes(deps, sessions, views);
  addRoutes(server, routes);
  addPages(server, deps);
  if (deps.docs !== undefined) addDocs(server, deps.docs, routes);
  server.setErrorHandler<FastifyError>(answerFailure);
  return server;
}

/** All of them; those of a cluster are only where there is one. */
export function opsRoutes(deps: OpsDeps, sessions: OpsSessions, views: LiveViews): readonly OpsRoute[] {
  const routes = [
    ...nodeRoutes(deps),
    ...purgeRoutes(deps.purges),
    ...inspectionRoutes(deps.inspection),
    ...liveRoutes(deps.inspection, views),
    ...actorActRoutes(deps.acting),
    ...sessionRoutes(deps.access, sessions),
    ...revocationRoutes(deps.revocations),
    ...partyRoutes(deps.enrolment),
    ...applicationRoutes(deps.applications),
    ...recoveryRoutes(deps.recoveries, deps.access),
    ...ledgerRoutes(deps.ledgers),
    ...blockRoutes(deps.blocks),
    ...brandRoutes(deps.brands),
    ...takedownRoutes(deps.takedowns),
    ...campaignRoutes(deps.campaigns),
    ...heldDeletionRoutes(deps.heldDeletions),
    ...listRoutes(deps.lists),
    ...(deps.cluster === null ? [] : clusterRoutes(deps.cluster)),
  ];
  const document: OpsRoute = read(
    "/openapi.json",
    { summary: "This document", answer: openApiDocument },
    async () => openApiOf([...routes, document]),
  );
  return [...routes, document];
}

/** `/` leads to the operators' own pages. */
function addDocs(server: FastifyInstance, docs: Docs, routes: readonly OpsRoute[]): void {
  docs.describe("ops", () => openApiOf(routes));
  const schema = { querystring: { type: "object" } };
  for (const url of docsPaths.filter((path) => path !== "/"))
    server.get(url, { schema }, async (request, reply) => {
      const outcome = await answerDocs(docs, request);
      if (outcome.kind === "answer")
        return reply.code(outcome.status).headers(outcome.headers).send(outcome.body);
      const { code, detail } = outcome.problem;
      return sendProblem(reply, code, detail);
    });
}

/** The codes by which a party's actor refuses what its sender did not see. */
const changedMeanwhile: readonly string[] = ["state_changed", "certificate_superseded"];

function answerFailure(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (error.validation !== undefined || (error.statusCode ?? 500) < 500)
    return sendProblem(reply, "request_invalid", error.message);
  const failure = failureAnswer(error);
  if (failure !== null) {
    request.log.warn({ request_id: request.id, err: error }, "not answered now");
    const { type: _type, title: _title, status: _status, code, detail, ...extras } = failure.problem;
    return sendProblem(reply, code, detail, extras);
  }
  if (error.name === "RegisterRefused" && changedMeanwhile.includes(error.code))
    return sendProblem(reply, "state_changed", error.message.slice(error.code.length + 2));
  if (error.name === "RegisterRefused")
    return sendProblem(reply, "request_invalid", error.message, { reason: error.code });
  request.log.error({ request_id: request.id, err: error }, "failed");
  return sendProblem(
    reply,
    "internal_error",
    "The service failed; its log has the cause under the request id.",
  );
}

/** Fills up as routes are added. */
function methodsByPath(server: FastifyInstance): ReadonlyMap<string, string[]> {
  const methods = new Map<string, string[]>();
  server.addHook("onRoute", ({ url, method }) => {
    methods.set(url, [...new Set([...(methods.get(url) ?? []), method].flat())]);
  });
  return methods;
}

function answerUnmatched(
  methods: ReadonlyMap<string, readonly string[]>,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  leaveBodyUnread(request, reply);
  const path = request.url.split("?", 1)[0] ?? "/";
  const there = [...methods].find(([pattern]) => pathPattern(pattern).test(path));
  if (there === undefined) return sendProblem(reply, "not_found", "This address does not exist here.");
  const [, allowed] = there;
  reply.header("allow", allowed.join(", "));
  return sendProblem(reply, "method_not_allowed", `${request.method} is not allowed here.`, { allowed });
}

function nodeRoutes(deps: OpsDeps): readonly OpsRoute[] {
  return [
    read("/healthz", { summary: "The process answers", answer: health }, async () => ({ status: "ok" })),
    read(
      "/readyz",
      {
        summary: "The node can serve; `degraded` names what is unavailable meanwhile",
        answer: readyReport,
        answers: { 503: { description: "The node cannot serve, with the reasons", body: readyReport } },
      },
      async (_request, reply) => {
        const report = await deps.ready().catch((error: unknown) => ({
          ready: false,
          degraded: [],
          checks: { readiness: String(error) },
          plain_text: [],
        }));
        return reply.code(report.ready ? 200 : 503).send(report);
      },
    ),
    read(
      "/metrics",
      { summary: "Prometheus text format", answer: anyText, mediaType: "text/plain" },
      async (_request, reply) => {
        const text = await deps.metrics.text(await deps.readings());
        return reply.header("content-type", deps.metrics.contentType).send(text);
      },
    ),
    read(
      "/ops/stalled-pushes",
      {
        summary: "Pushes on this node that made no step for ten minutes, 100 at most",
        answer: stalledPushes,
      },
      async () => ({ pushes: deps.stalledPushes().slice(0, listLimit) }),
    ),
  ];
}

function requestIds(incarnation: string): () => string {
  let count = 0;
  return () => {
    count += 1;
    return `ops-${incarnation}-${count.toString(36)}`;
  };
}

function platformAnswers(logger: FastifyBaseLogger, nextId: () => string): PlatformAnswers {
  return {
    fields: () => ({ ...everyAnswer, "request-id": nextId() }),
    answered: ({ status, code }, { "request-id": id }) =>
      logger.info({ request_id: id, surface: "ops", status, code }, "refused before it was a request"),
  };
}

function addManners(server: FastifyInstance, access: OpsAccess, sessions: OpsSessions): void {
  server.addHook("onRequest", (request, reply, done) => {
    reply.headers({ ...everyAnswer, "request-id": request.id });
    const fault = headFault(request.raw, false);
    if (fault !== null) {
      const { code, detail, ...extras } = fault;
      sendProblem(reply, code, detail, extras);
      return;
    }
    const path = request.url.split("?", 1)[0] ?? "";
    const judged = judgeOpsRequest(access, sessions, {
      path,
      host: addressedHost(request.raw) ?? undefined,
      peer: request.socket.remoteAddress,
      needs: rightFor(request),
      header: (name) => {
        const value = request.headers[name];
        return Array.isArray(value) ? value.join(",") : value;
      },
      count: (name) => countOf(request.raw.rawHeaders, name),
    });
    if (!judged.ok) {
      refuseAccess(request, reply, judged.code);
      return;
    }
    request.admission = judged.admission;
    // What a session is opened with is judged where it is read.
    request.isLetIn = path !== sessionPath || judged.admission.rights.length > 0;
    done();
  });
}

/** Names and values alternate. */
function countOf(rawHeaders: readonly string[], name: string): number {
  return rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === name).length;
}

const refusals: Readonly<Record<Exclude<OpsRefusal, "right_missing">, string>> = {
  token_invalid:
    "Send a name and the operators' token as «Authorization: Basic …», or open a session with them.",
  name_missing:
    "An act needs the name of the person who acts: send it with the token as «Authorization: Basic …», or sign in with it.",
  origin_not_allowed: "A page of another origin caused this request; use the operators' own pages.",
  host_not_allowed: "Operations are answered for the hosts that SVC_OPS_LISTEN and SVC_OPS_HOSTS name.",
};

/** A browser that asks for a page is led to where one signs in. */
function refuseAccess(request: FastifyRequest, reply: FastifyReply, code: OpsRefusal): void {
  const { method, url } = request;
  if (code === "token_invalid" && method === "GET" && (url === "/" || url.startsWith(uiBase))) {
    reply.redirect(signInPath(url), 303);
    return;
  }
  if (code === "token_invalid") reply.header("www-authenticate", challenge);
  const needed = rightFor(request);
  const detail =
    code === "right_missing"
      ? `This needs the right «${needed}», which what was sent does not give.`
      : refusals[code];
  sendProblem(reply, code === "name_missing" ? "right_missing" : code, detail);
}
