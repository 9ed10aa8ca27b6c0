// What operators read of purges: which are late on this node and why, and every deletion of a business with its proof; and the purge
// that they order because the law does.

import type { FastifyInstance } from "fastify";
import type { Operation } from "../api/route.ts";
import type { Result } from "../protocol/result.ts";
import { anyText, described, integer, type Of, object, timestamp, uuid } from "../protocol/shape.ts";
import type { OrderedPurge, PurgePage } from "../service/purges.ts";
import { actOf } from "./acts.ts";
import { changed } from "./block-shapes.ts";
import { act, parameter } from "./operation-docs.ts";
import { sendProblem } from "./reply.ts";
import { type Act, actMembers, type LatePurge, plainText, purgeProof, reasonLengthMax } from "./shapes.ts";

export interface PurgeReads {
  /** The businesses whose purges are late on this node, that of the oldest deletion first. */
  late(): readonly LatePurge[];
  /** A page of a business's deletions, after the one with this number. */
  ofBusiness(uuid: string, after: number): Promise<PurgePage>;
  /** Refusals by the business's actor are thrown as `RegisterRefused`. */
  order(request: {
    readonly record_id: string;
    readonly ground: string;
    readonly act: Act;
  }): Promise<Result<{ readonly changed: boolean; readonly subject: OrderedPurge }, "unknown">>;
}

const orderBody = object({
  ground: plainText(
    reasonLengthMax,
    "The ground in law. Everybody who has the record's id and hash reads it on its verify page.",
  ),
  ...actMembers,
});

const orderedPurge = object({
  record_id: anyText,
  business_uuid: uuid,
  generation: described(
    integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    "The newest version that it concerns; it concerns all before it as well.",
  ),
  ground: anyText,
  ordered_at: timestamp,
  proof: purgeProof,
});

export const purgeOrderOperations: readonly Operation[] = [
  act("/ops/purge-orders/:record_id", {
    summary: "Deletes a record and purges its bytes at once, because the law orders it",
    ...{ body: orderBody, answer: changed("subject", orderedPurge) },
    parameters: [parameter("path", "record_id", "Id of a record that is or was published.")],
  }),
];

const lateMax = 100;
const purgesQuery = {
  type: "object",
  properties: { after: { type: "string", pattern: "^[0-9]{1,15}$" } },
  additionalProperties: false,
} as const;

/** Adds the routes. */
export function addPurgeRoutes(server: FastifyInstance, purges: PurgeReads): void {
  server.get("/ops/purges", async () => ({ late: purges.late().slice(0, lateMax) }));
  server.get<{ Params: { business_uuid: string }; Querystring: { after?: string } }>(
    "/ops/purges/:business_uuid",
    { schema: { querystring: purgesQuery } },
    async ({ params: { business_uuid }, query }) => ({
      business_uuid,
      ...(await purges.ofBusiness(business_uuid, Number(query.after ?? 0))),
    }),
  );
  server.post<{ Params: { record_id: string }; Body: Of<typeof orderBody> }>(
    "/ops/purge-orders/:record_id",
    { schema: { body: orderBody.schema } },
    async (request, reply) => {
      const { ground } = request.body;
      const outcome = await purges.order({ ...request.params, ground, act: actOf(request) });
      if (!outcome.ok) return sendProblem(reply, "not_found", outcome.detail);
      request.outcome = { changed: outcome.value.changed };
      return outcome.value;
    },
  );
}
