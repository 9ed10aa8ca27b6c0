// What the signed routes of the business surface have in common: whom they accept, and how a repeated request is
// recognised.

import type { FastifyRequest } from "fastify";
import { toBase64 } from "../protocol/bytes.ts";
import { parseContentDigest } from "../protocol/content-digest.ts";
import { idempotencyKeyPattern } from "../protocol/limits.ts";
import type { AcceptedCallers } from "../service/authenticate.ts";
import { single } from "./request-parts.ts";
import type { Parameter } from "./route.ts";

export function acceptedWith(
  { authorities }: Pick<AcceptedCallers, "authorities">,
  tag: "svc-push" | "svc-business-read",
): AcceptedCallers {
  return { authorities, tags: [tag], roles: ["integration"], bearer: false };
}

export const idempotencyKey: Parameter = {
  name: "Idempotency-Key",
  in: "header",
  required: true,
  description:
    "Sending the same key with the same request replays the first answer for 24 hours: what was done, or a refusal that follows from the request alone (400, 413, 415 and `type_not_publishable`). Any other refusal is judged again.",
  schema: { type: "string", pattern: idempotencyKeyPattern.source },
};

/** One form for the same digest, however the verified header spelled it. */
export function verifiedDigest(request: FastifyRequest): string {
  const digest = parseContentDigest(single(request.headers["content-digest"]) ?? "");
  return digest === null ? "" : `sha-256=:${toBase64(digest)}:`;
}
