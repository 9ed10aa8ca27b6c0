// Acts of operators: requests that change something. Each names who asks and why, and each is in the audit log.
//   A1. An act is in the audit log before it begins; where that cannot be, it is not begun.
//   A2. What became of it is there too, also of requests that were refused.
//   A3. Nothing of a request is written there but what its schema describes, and no grant: whoever reads the log gets no
//       means to act.
//   A4. What was refused before it was an act, as to those without the token, makes no more than `refusalsMax` lines a minute:
//       nobody fills the disk or keeps the node at it. A later line says how many were left out.

import type { FastifyInstance, FastifyRequest } from "fastify";
import { sendProblem } from "./reply.ts";

/** Where acts are recorded, apart from the log of requests. */
export interface AuditLog {
  /** What is recorded stays when the process ends the moment after. Throws where it cannot be written. */
  record(event: string, detail: Readonly<Record<string, unknown>>): void;
}

/** Members that the body of every act has. */
export interface Act {
  readonly by: string;
  readonly reason: string;
}

declare module "fastify" {
  interface FastifyRequest {
    /** What was answered, in a few words, for the audit log. */
    outcome: Readonly<Record<string, unknown>> | null;
  }
}

const plainText = "^[^\\p{Cc}]*[^\\p{Cc}\\s][^\\p{Cc}]*$";

export const byLengthMax = 200;
export const reasonLengthMax = 500;

const actMembers = {
  by: {
    ...{ type: "string", maxLength: byLengthMax, pattern: plainText },
    description: "Who asks for it: a person, or a system that a person answers for.",
  },
  reason: {
    ...{ type: "string", maxLength: reasonLengthMax, pattern: plainText },
    description: "Why. It is kept with the act.",
  },
} as const;

type Members = Readonly<Record<string, object>>;

/** JSON Schema of the body of an act. */
export function actBody(required: Members, optional: Members = {}): object {
  return {
    type: "object",
    properties: { ...required, ...optional, ...actMembers },
    required: [...Object.keys(required), ...Object.keys(actMembers)],
    additionalProperties: false,
  };
}

const reads = ["GET", "HEAD"];

export function isAct({ method }: Pick<FastifyRequest, "method">): boolean {
  return !reads.includes(method);
}

const refusalsMax = 60;
const refusalsMs = 60_000;

/** The log, with what there is too much of left out (A4). */
function boundedLog(audit: AuditLog, elapsedMs: () => number) {
  let [sinceMs, count, leftOut] = [elapsedMs(), 0, 0];
  const record = (event: string, entry: object): void => {
    audit.record(event, { ...entry, ...(leftOut > 0 ? { left_out: leftOut } : {}) });
    leftOut = 0;
  };
  const isLeftOut = (): boolean => {
    if (elapsedMs() - sinceMs >= refusalsMs) [sinceMs, count] = [elapsedMs(), 0];
    count += 1;
    return count > refusalsMax;
  };
  return {
    record,
    recordRefusal: (entry: object): void => {
      if (isLeftOut()) leftOut += 1;
      else record("ops.refused", entry);
    },
  };
}

/** A1, A2. To be called before any route is added. */
export function addAudit(
  server: FastifyInstance,
  { audit, elapsedMs }: { readonly audit: AuditLog; readonly elapsedMs: () => number },
): void {
  const log = boundedLog(audit, elapsedMs);
  // Those whose body is what its schema says.
  const understood = new WeakSet<FastifyRequest>();
  const entry = (request: FastifyRequest): object => entryOf(request, understood.has(request));
  const recordEnd = (request: FastifyRequest, status: number): void => {
    const end = { ...entry(request), status, outcome: request.outcome };
    if (!understood.has(request)) log.recordRefusal(end);
    else log.record(status < 400 ? "ops.acted" : "ops.refused", end);
  };
  server.decorateRequest("outcome", null);
  server.addHook("preHandler", (request, reply, done) => {
    try {
      if (isAct(request) && !request.is404) {
        understood.add(request);
        log.record("ops.asked", entry(request));
      }
      done();
    } catch (error) {
      request.log.error({ request_id: request.id, err: error }, "audit.failed");
      const extras = { reason: "audit_log", retry_after_seconds: 60 };
      sendProblem(reply, "unavailable", "The audit log cannot be written to, so nothing was done.", extras);
    }
  });
  server.addHook("onResponse", (request, reply, done) => {
    try {
      if (isAct(request)) recordEnd(request, reply.statusCode);
    } catch (error) {
      request.log.error({ request_id: request.id, err: error }, "audit.failed");
    }
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
