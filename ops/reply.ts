// Refusals of the operations surface: problem documents, as on every surface.

import type { FastifyReply } from "fastify";
import { type ProblemCode, type ProblemExtras, problem, problemMediaType } from "../protocol/problem.ts";

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
