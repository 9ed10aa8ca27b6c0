// What operators read of purges: which are late on this node and why, and every deletion of a business with its proof.

import type { FastifyInstance } from "fastify";
import type { PurgePage } from "../service/purges.ts";
import type { LatePurge } from "./shapes.ts";

export interface PurgeReads {
  /** The businesses whose purges are late on this node, that of the oldest deletion first. */
  late(): readonly LatePurge[];
  /** A page of a business's deletions, after the one with this number. */
  ofBusiness(uuid: string, after: number): Promise<PurgePage>;
}

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
}
