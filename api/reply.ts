// Sends what a service function answered: bodies as they are, problems as RFC 9457 documents.

import type { FastifyReply } from "fastify";
import { type Problem, problemMediaType } from "../protocol/problem.ts";
import type { Outcome } from "../service/answer.ts";

type Headers = Readonly<Record<string, string>>;

const noHeaders: Headers = Object.freeze({});

/** Sends the outcome; `headers` come on top of its own. */
export function send(reply: FastifyReply, outcome: Outcome, headers: Headers = noHeaders): FastifyReply {
  setHeaders(reply, outcome.headers);
  setHeaders(reply, headers);
  if (outcome.kind === "problem") return sendProblem(reply, outcome.problem);
  return reply.code(outcome.status).send(outcome.body);
}

export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  // RFC 9110 §15.5.2 demands a challenge with every 401.
  if (problem.status === 401) reply.header("www-authenticate", "Signature");
  if (problem.retry_after_seconds !== undefined)
    reply.header("retry-after", String(problem.retry_after_seconds));
  reply.header("cache-control", "no-store");
  return reply.code(problem.status).header("content-type", problemMediaType).send(JSON.stringify(problem));
}

function setHeaders(reply: FastifyReply, headers: Headers): void {
  for (const name in headers) reply.header(name, headers[name]);
}
