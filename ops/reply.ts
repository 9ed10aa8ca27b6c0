import type { FastifyReply } from "fastify";
import { type Problem, problemMediaType } from "../protocol/problem.ts";

/** Sends a problem document (RFC 9457). As bytes: the platform adds a charset to the media type of a text, and JSON has none. */
export function sendProblem(reply: FastifyReply, found: Problem): FastifyReply {
  reply.code(found.status).header("content-type", problemMediaType).header("cache-control", "no-store");
  return reply.send(Buffer.from(JSON.stringify(found)));
}
