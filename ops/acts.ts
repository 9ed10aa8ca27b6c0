// Acts of operators: requests that change something. Each names who asks and why, and each is in the audit log.
//   A1. An act is in the audit log before it begins; where that cannot be, it is not begun.
//   A2. What became of it is there too, also of requests that were refused.
//   A3. Nothing of a request is written there but what its schema describes, and no grant: whoever reads the log gets no
//       means to act.
//   A4. Whoever has no token adds a bounded number of lines (refused-strangers.ts).

import type { FastifyInstance, FastifyRequest } from "fastify";
import { RefusedStrangers } from "./refused-strangers.ts";
import { sendProblem } from "./reply.ts";
import type { Act } from "./shapes.ts";

/** Where acts are recorded, apart from the log of requests. */
export interface AuditLog {
  /** What is recorded stays when the process ends the moment after. Throws where it cannot be written. */
  record(event: string, detail: Readonly<Record<string, unknown>>): void;
}

declare module "fastify" {
  interface FastifyRequest {
    /** What was answered, in a few words, for the audit log. */
    outcome: Readonly<Record<string, unknown>> | null;
    /** Whether the guard let it pass; an act passes with the token alone. */
    isLetIn: boolean;
  }
}

const reads = ["GET", "HEAD"];

export function isAct({ method }: Pick<FastifyRequest, "method">): boolean {
  return !reads.includes(method);
}

/** A1, A2. To be called before any route is added. */
export function addAudit(server: FastifyInstance, audit: AuditLog): void {
  // Those whose body is what its schema says.
  const understood = new WeakSet<FastifyRequest>();
  const entry = (request: FastifyRequest): object => entryOf(request, understood.has(request));
  const write: AuditLog["record"] = (event, detail) => {
    try {
      audit.record(event, detail);
    } catch (error) {
      server.log.error({ request_id: detail["request_id"], err: error }, "audit.failed");
    }
  };
  const strangers = new RefusedStrangers(write);
  server.addHook("onClose", (_server, done) => {
    strangers.end();
    done();
  });
  server.decorateRequest("outcome", null);
  server.decorateRequest("isLetIn", false);
  server.addHook("preHandler", (request, reply, done) => {
    try {
      if (isAct(request) && !request.is404) {
        understood.add(request);
        audit.record("ops.asked", { ...entry(request) });
      }
      done();
    } catch (error) {
      request.log.error({ request_id: request.id, err: error }, "audit.failed");
      const extras = { reason: "audit_log", retry_after_seconds: 60 };
      sendProblem(reply, "unavailable", "The audit log cannot be written to, so nothing was done.", extras);
    }
  });
  server.addHook("onResponse", (request, reply, done) => {
    const { statusCode: status } = reply;
    const detail = { ...entry(request), status, outcome: request.outcome };
    if (isAct(request) && request.isLetIn) write(status < 400 ? "ops.acted" : "ops.refused", detail);
    else if (isAct(request)) strangers.add(detail);
    done();
  });
}

/** A3. */
function entryOf(request: FastifyRequest, isUnderstood: boolean): object {
  const { id, method, ip, routeOptions, params } = request;
  const what = { request_id: id, from: ip, act: `${method} ${routeOptions.url ?? "unmatched"}` };
  if (!isUnderstood) return what;
  const { by, reason, grant: _grant, ...asked } = request.body as Act & Readonly<Record<string, unknown>>;
  return { ...what, by, reason, params, asked };
}
