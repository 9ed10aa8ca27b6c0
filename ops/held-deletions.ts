// Deletions that wait for an operator, because they were received after a certificate had been revoked for compromise.

import type { FastifyInstance } from "fastify";
import type { Operation } from "../api/route.ts";
import { type Of, object } from "../protocol/shape.ts";
import { heldDeletion, heldDeletionsAnswer } from "../protocol/wire/held-deletions.ts";
import type { HeldDeletions } from "../service/held-deletions.ts";
import { actOf } from "./acts.ts";
import { changed } from "./block-shapes.ts";
import { act, parameter, read } from "./operation-docs.ts";
import { sendProblem } from "./reply.ts";
import { actMembers } from "./shapes.ts";

const decisionBody = object(actMembers);

const businessUuid = parameter("path", "business_uuid", "UUID of the business.");
const names = [businessUuid, parameter("path", "document_hash", "Hash of the sealed document.")];

/** What is done with a deletion, by the last segment of the address. */
const decisions = {
  release: { released: true, summary: "Has a held deletion done, as if it had just been received" },
  reject: { released: false, summary: "Rejects a held deletion for good; the record stays as it is" },
} as const;

export const heldDeletionOperations: readonly Operation[] = [
  read(
    "/ops/deletions/:business_uuid",
    "Deletions of a business that wait or waited for an operator, 100 a page",
    heldDeletionsAnswer,
    {
      parameters: [businessUuid, parameter("query", "after", "`next_after` of the previous page.")],
      problems: ["not_found"],
    },
  ),
  ...Object.entries(decisions).map(([last, { summary }]) =>
    act(`/ops/deletions/:business_uuid/:document_hash/${last}`, {
      ...{ summary, body: decisionBody, answer: changed("subject", heldDeletion), parameters: names },
    }),
  ),
];

const pageQuery = {
  type: "object",
  properties: { after: { type: "string", pattern: "^sha256:[0-9a-f]{64}$" } },
  additionalProperties: false,
} as const;

/** Adds the routes. */
export function addHeldDeletionRoutes(server: FastifyInstance, deletions: HeldDeletions): void {
  server.get<{ Params: { business_uuid: string }; Querystring: { after?: string } }>(
    "/ops/deletions/:business_uuid",
    { schema: { querystring: pageQuery } },
    async ({ params, query }, reply) => {
      const found = await deletions.ofBusiness(params.business_uuid, query.after ?? "");
      return found.ok ? found.value : sendProblem(reply, "not_found", found.detail);
    },
  );
  for (const [last, { released }] of Object.entries(decisions))
    server.post<{
      Params: { business_uuid: string; document_hash: string };
      Body: Of<typeof decisionBody>;
    }>(
      `/ops/deletions/:business_uuid/:document_hash/${last}`,
      { schema: { body: decisionBody.schema } },
      async (request, reply) => {
        const outcome = await deletions.decide({ ...request.params, released, act: actOf(request) });
        if (!outcome.ok) return sendProblem(reply, "not_found", outcome.detail);
        request.outcome = { changed: outcome.value.changed };
        return outcome.value;
      },
    );
}
