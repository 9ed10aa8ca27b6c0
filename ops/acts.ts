// Operator actions: requests that change something, each of which has the name of the person who signed in and a reason, and reads
// that need more than the right to read. Each is recorded in the audit log.
//   A1. An action is in the audit log before it starts; if it cannot be recorded, it is not started.
//   A2. Its outcome is recorded too, including that of refused requests.
//   A3. Of a request only what its schema describes is recorded, and no grant or token: the log gives its readers no means to act.
//   A4. Callers without a token add a bounded number of lines, also where they try to open a session.

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type ProblemCode, type ProblemExtras, problem, problemMediaType } from "../protocol/problem.ts";
import { type Admission, neededRight, type OpsRight } from "./guard.ts";
import type { Act } from "./shapes.ts";

/** Where actions are recorded, separately from the log of requests. */
export interface AuditLog {
  /** Once it returns, the record survives even if the process dies the moment after. Throws if it cannot be written. */
  record(event: string, detail: Readonly<Record<string, unknown>>): void;
}

declare module "fastify" {
  interface FastifyRequest {
    /** The answer in a few words, for the audit log. */
    outcome: Readonly<Record<string, unknown>> | null;
    /** Whether the guard let it pass; an action passes only with its right and a name. */
    isLetIn: boolean;
    /** What the request may do, and how that was shown; null before the guard has judged it. */
    admission: Admission | null;
  }
}

export function isAct({ method, routeOptions }: Pick<FastifyRequest, "method" | "routeOptions">): boolean {
  return rightFor({ method, routeOptions }) !== "read";
}

/** The route says it, not the text of the path, which can be written in many ways. */
export function rightFor({
  method,
  routeOptions,
}: Pick<FastifyRequest, "method" | "routeOptions">): OpsRight {
  return neededRight(method, routeOptions.url ?? "");
}

/** Who acts and why: the name is that of the person who signed in, whatever the body says. */
export function actOf({ admission, body }: Pick<FastifyRequest, "admission" | "body">): Act {
  const by = admission?.user ?? null;
  if (by === null) throw new Error("The guard let an act pass that nobody signed in for.");
  return { by, reason: (body as { readonly reason: string }).reason };
}

/** Installs the recording of actions (A1, A2). Must be called before any route is added. */
export function addAudit(server: FastifyInstance, audit: AuditLog): void {
  // The requests whose body matches its schema.
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
  server.decorateRequest("admission", null);
  server.addHook("preHandler", (request, reply, done) => {
    try {
      if (isAct(request) && !request.is404) understood.add(request);
      if (understood.has(request) && request.isLetIn) {
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

/** The parts of a request that may be recorded (A3). */
function entryOf(request: FastifyRequest, isUnderstood: boolean): object {
  const { id, method, ip, routeOptions, params, admission } = request;
  const { via = "nothing", user = null } = admission ?? {};
  const what = {
    request_id: id,
    from: ip,
    via,
    by: user,
    act: `${method} ${routeOptions.url ?? "unmatched"}`,
  };
  if (!isUnderstood) return what;
  const body = (request.body ?? {}) as Readonly<Record<string, unknown>>;
  const { reason, grant: _grant, token: _token, text, ...asked } = body;
  // A list has millions of characters; the outcome has its hash.
  const list = typeof text === "string" ? { text_bytes: Buffer.byteLength(text) } : {};
  return { ...what, reason, params, asked: { ...asked, ...list } };
}

// What callers without a token leave in the audit log. Each line is flushed to disk before the node continues, so their
// requests must not cost a line each: a few packets would block the node for longer than its lease, and fill its disk.
//   R1. At most `refusedLinesMax` lines per minute come from them.
//   R2. Refusals beyond that are counted. The count is logged when the minute ends or the surface closes.

type Detail = Readonly<Record<string, unknown>>;

export const refusedLinesMax = 60;
const minuteMs = 60_000;

class RefusedStrangers {
  readonly #write: (event: string, detail: Detail) => void;
  #count = 0;
  #minute: NodeJS.Timeout | null = null;

  /** `write` must not throw. */
  constructor(write: (event: string, detail: Detail) => void) {
    this.#write = write;
  }

  add(detail: Detail): void {
    this.#minute ??= setTimeout(() => this.end(), minuteMs).unref();
    this.#count += 1;
    if (this.#count <= refusedLinesMax) this.#write("ops.refused", detail);
  }

  /** Ends the current minute, if there is one. */
  end(): void {
    if (this.#minute !== null) clearTimeout(this.#minute);
    this.#minute = null;
    const count = this.#count - refusedLinesMax;
    this.#count = 0;
    if (count > 0) this.#write("ops.refused_more", { count });
  }
}

// Refusals of the operations surface: problem documents, as on every surface.

export function sendProblem(
  reply: FastifyReply,
  code: ProblemCode,
  detail: string,
  extras: ProblemExtras = {},
): FastifyReply {
  const found = problem(code, detail, extras);
  reply.request.outcome = { code, ...(extras.reason === undefined ? {} : { reason: extras.reason }) };
  if (extras.retry_after_seconds !== undefined)
    reply.header("retry-after", String(extras.retry_after_seconds));
  // Sent as bytes: the platform adds a charset to the media type of text, and JSON has none (RFC 8259 §11).
  return reply
    .code(found.status)
    .header("content-type", problemMediaType)
    .send(Buffer.from(JSON.stringify(found)));
}
