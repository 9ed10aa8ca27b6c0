// The operators' surface: health, readiness, metrics, and any actor's state as the machine that runs has it.

import fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  LogController,
} from "fastify";
import { failureAnswer } from "../service/failure.ts";
import type { Revocations } from "../service/revocations.ts";
import { type AuditLog, addAudit, sendProblem } from "./acts.ts";
import { addClusterRoutes, type ClusterOps, clusterPaths } from "./cluster.ts";
import { judgeOpsRequest, type OpsAccess } from "./guard.ts";
import type { Gauge, Metrics } from "./metrics.ts";
import { addRevocationRoutes, revocationPaths } from "./revocations.ts";

export interface ReadyReport {
  readonly ready: boolean;
  /** What was looked at, each `ok` or what is wrong with it. */
  readonly checks: Readonly<Record<string, string>>;
  /** Channels that are in the clear because settings allow it; none is the right answer in production. */
  readonly plain_text: readonly string[];
}

export interface OpsDeps {
  readonly logger: FastifyBaseLogger;
  /** Begins the request ids of this start of the node. */
  readonly incarnation: string;
  readonly access: OpsAccess;
  readonly metrics: Metrics;
  readonly gauges: () => readonly Gauge[];
  readonly ready: () => Promise<ReadyReport>;
  /** `ActorSystem.inspect`: null for an actor that never existed. */
  readonly inspect: (ref: { readonly kind: string; readonly id: string }) => Promise<object | null>;
  /** Ids of the actors of a kind after `afterId`, in order. */
  readonly listActors: (kind: string, afterId: string, limit: number) => Promise<readonly string[]>;
  readonly revocations: Revocations;
  /** Where acts are recorded. */
  readonly audit: AuditLog;
  /** Null for a node alone. */
  readonly cluster: ClusterOps | null;
}

const listLimit = 100;
/** Ids of mandates have 128 characters, each of which may be encoded in three. */
const paramLengthMax = 1_024;
/** Of the list of actors; whatever else is asked is refused. */
const listQuery = {
  type: "object",
  properties: { after: { type: "string" } },
  additionalProperties: false,
} as const;

export function buildOps(deps: OpsDeps): FastifyInstance {
  let count = 0;
  const server = fastify({
    loggerInstance: deps.logger,
    logController: new LogController({ disableRequestLogging: true }),
    requestIdHeader: false,
    exposeHeadRoutes: true,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: paramLengthMax },
    // What is said is refused when it is not understood, never quietly changed into something else.
    ajv: { customOptions: { removeAdditional: false, coerceTypes: false, useDefaults: false } },
    genReqId: () => {
      count += 1;
      return `ops-${deps.incarnation}-${count.toString(36)}`;
    },
  });
  addManners(server, deps.access);
  addAudit(server, deps.audit);
  server.get("/healthz", async () => ({ status: "ok" }));
  server.get("/readyz", async (_request, reply) => {
    const report = await deps
      .ready()
      .catch((error: unknown) => ({ ready: false, checks: { readiness: String(error) }, plain_text: [] }));
    return reply.code(report.ready ? 200 : 503).send(report);
  });
  server.get("/metrics", async (_request, reply) => {
    return reply
      .header("content-type", "text/plain; version=0.0.4; charset=utf-8")
      .send(deps.metrics.text(deps.gauges()));
  });
  server.get<{ Params: { kind: string }; Querystring: { after?: string } }>(
    "/ops/actors/:kind",
    { schema: { querystring: listQuery } },
    async (request) => {
      const ids = await deps.listActors(request.params.kind, request.query.after ?? "", listLimit);
      return { kind: request.params.kind, ids, next_after: ids.length === listLimit ? ids.at(-1) : null };
    },
  );
  server.get<{ Params: { kind: string; id: string } }>("/ops/actors/:kind/:id", async (request, reply) => {
    const report = await deps.inspect(request.params);
    return report ?? sendProblem(reply, "not_found", "There is no such actor.");
  });
  addRevocationRoutes(server, deps.revocations);
  if (deps.cluster !== null) addClusterRoutes(server, deps.cluster);
  server.get("/openapi.json", async () => openApiOf(deps.cluster !== null));
  server.setNotFoundHandler((_request, reply) =>
    sendProblem(reply, "not_found", "There is no such address here."),
  );
  server.setErrorHandler<FastifyError>((error, request, reply) => {
    if (error.validation !== undefined || (error.statusCode ?? 500) < 500)
      return sendProblem(reply, "request_invalid", error.message);
    const failure = failureAnswer(error);
    if (failure !== null) {
      request.log.warn({ request_id: request.id, err: error }, "not answered now");
      const { type: _type, title: _title, status: _status, code, detail, ...extras } = failure.problem;
      return sendProblem(reply, code, detail, extras);
    }
    if (error.name === "RegisterRefused")
      return sendProblem(reply, "request_invalid", error.message, { reason: error.code });
    request.log.error({ request_id: request.id, err: error }, "failed");
    return sendProblem(reply, "internal_error", "The service failed; the request id names what happened.");
  });
  return server;
}

function addManners(server: FastifyInstance, access: OpsAccess): void {
  server.addHook("onRequest", (request, reply, done) => {
    reply.header("request-id", request.id).header("cache-control", "no-store");
    const refusal = judgeOpsRequest(access, {
      method: request.method,
      path: request.url.split("?", 1)[0] ?? "",
      host: request.headers.host,
      authorization: request.headers.authorization,
    });
    if (refusal === null) done();
    else refuseAccess(reply, refusal);
  });
}

function refuseAccess(reply: FastifyReply, code: "host_not_allowed" | "token_invalid"): void {
  if (code === "token_invalid") {
    reply.header("www-authenticate", 'Bearer realm="operations"');
    sendProblem(reply, code, "Send the operators' token as «Authorization: Bearer …».");
  } else
    sendProblem(
      reply,
      code,
      "Operations are answered for the hosts that SVC_OPS_LISTEN and SVC_OPS_HOSTS name.",
    );
}

const answer = (description: string, parameters: readonly object[] = []): object => ({
  get: { summary: description, parameters, responses: { 200: { description } } },
});

const parameter = (where: "path" | "query", name: string, description: string): object => ({
  ...{ name, in: where, required: where === "path", description, schema: { type: "string" } },
});
const kind = parameter("path", "kind", "Kind of actor, such as push.");

const openApiOf = (isClustered: boolean): object => ({
  openapi: "3.1.0",
  info: { title: "Operations", version: "1.0.0" },
  paths: {
    "/healthz": answer("The process answers"),
    "/readyz": answer("The node can serve; 503 while it cannot"),
    "/metrics": answer("Prometheus text format"),
    "/ops/actors/{kind}": answer("Ids of the actors of a kind, 100 a page", [
      kind,
      parameter("query", "after", "`next_after` of the page before."),
    ]),
    "/ops/actors/{kind}/{id}": answer(
      "State of an actor: machine state, context, timers, unacknowledged effects, last events",
      [kind, parameter("path", "id", "Id of the actor.")],
    ),
    ...revocationPaths,
    ...(isClustered ? clusterPaths : {}),
  },
});
