// Sends the result of a service function: bodies verbatim, problems as RFC 9457 documents.

import type { FastifyReply } from "fastify";
import { type Problem, problemMediaType } from "../protocol/problem.ts";
import type { AnswerBody, Outcome } from "../service/answer.ts";
import { type Joined, Rooms } from "./rooms.ts";

type Headers = Readonly<Record<string, string>>;

const noHeaders: Headers = Object.freeze({});
/** A pool of twenty ads with long histories fits in. */
const rooms = new Rooms({ bytes: 524_288, bytesMin: 65_536, keptMax: 8 });

/** Sends the outcome; `headers` are added to its own. */
export function send(reply: FastifyReply, outcome: Outcome, headers: Headers = noHeaders): FastifyReply {
  setHeaders(reply, outcome.headers);
  setHeaders(reply, headers);
  if (outcome.kind === "problem") return sendProblem(reply, outcome.problem);
  // A refusal that is replayed under its Idempotency-Key.
  if (outcome.status >= 400) reply.header("cache-control", "no-store");
  return sendBody(reply.code(outcome.status), outcome.body);
}

export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  // RFC 9110 §15.5.2 requires a challenge with every 401.
  if (problem.status === 401) reply.header("www-authenticate", "Signature");
  if (problem.retry_after_seconds !== undefined)
    reply.header("retry-after", String(problem.retry_after_seconds));
  reply.header("cache-control", "no-store");
  reply.problemCode = problem.code;
  return sendBody(
    reply.code(problem.status).header("content-type", problemMediaType),
    JSON.stringify(problem),
  );
}

/** Sent as bytes: the platform adds a charset to the media type of text, and JSON has none (RFC 8259 §11). */
function sendBody(reply: FastifyReply, body: AnswerBody): FastifyReply {
  const { bytes, heldBytes } = joined(reply, body);
  reply.send(bytes);
  // What the peer's side currently has no room for.
  const unsent = reply.raw.socket?.writableLength ?? 0;
  if (unsent > 0) reply.server.edge.owe(reply.raw, Math.max(unsent, heldBytes));
  return reply;
}

function joined(reply: FastifyReply, body: AnswerBody): Pick<Joined, "bytes" | "heldBytes"> {
  if (typeof body === "string") return { bytes: Buffer.from(body), heldBytes: 0 };
  if (body instanceof Uint8Array) return { bytes: body, heldBytes: 0 };
  const found = rooms.join(body.parts);
  // By then all of it was taken by the system, or the connection is gone.
  reply.raw.on("close", found.release);
  return found;
}

function setHeaders(reply: FastifyReply, headers: Headers): void {
  for (const name in headers) reply.header(name, headers[name]);
}
