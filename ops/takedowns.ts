// What operators take out of serving: one record, or everything of a business; and what they look up beforehand.

import type { FastifyInstance } from "fastify";
import type { Operation } from "../api/route.ts";
import {
  anyText,
  described,
  integer,
  listOf,
  named,
  nullable,
  type Of,
  object,
  timestamp,
  uuid,
} from "../protocol/shape.ts";
import type { Takedowns } from "../service/takedowns.ts";
import { actOf } from "./acts.ts";
import { changed } from "./block-shapes.ts";
import { act, parameter, read, shown } from "./operation-docs.ts";
import { sendProblem } from "./reply.ts";
import { actMembers, plainText, reasonLengthMax } from "./shapes.ts";

const imposeBody = object({
  statement_of_reasons: plainText(
    reasonLengthMax,
    "What the business is told. The reason is for the operators' own record, and told to nobody else.",
  ),
  ...actMembers,
});
const liftBody = object(actMembers);

const takedown = object({
  business_uuid: uuid,
  record_id: described(nullable(anyText), "Null for everything of the business."),
  statement_of_reasons: anyText,
  taken_down_at: timestamp,
  lifted_at: described(nullable(timestamp), "Null while it is in force."),
});
export const takedownState = named(
  "TakedownState",
  object({
    business_uuid: uuid,
    legal_name: anyText,
    record_id: nullable(anyText),
    takedown: described(nullable(takedown), "The newest takedown; null if there never was one."),
  }),
);
const takedownList = object({
  takedowns: described(listOf(takedown), "Those in force, as far as this region has heard, newest first."),
  total: integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
});
export type TakedownList = Of<typeof takedownList>;

const subject = parameter(
  "path",
  "subject",
  "A record_id, or the UUID of a business for everything that it publishes.",
);

export const takedownOperations: readonly Operation[] = [
  read("/ops/takedowns", "What is taken down, 100 at most", takedownList),
  shown("/ops/takedowns/:subject", "subject", takedownState, [subject]),
  act("/ops/takedowns/:subject/impose", {
    summary: "Takes a record, or everything of a business, out of serving in every region",
    ...{ body: imposeBody, answer: changed("subject", takedownState), parameters: [subject] },
  }),
  act("/ops/takedowns/:subject/lift", {
    summary: "Undoes a takedown",
    ...{ body: liftBody, answer: changed("subject", takedownState), parameters: [subject] },
  }),
];

interface Named {
  readonly subject: string;
}

/** Adds the routes. */
export function addTakedownRoutes(server: FastifyInstance, takedowns: Takedowns): void {
  server.get("/ops/takedowns", async () => takedowns.inForce());
  server.get<{ Params: Named }>("/ops/takedowns/:subject", async ({ params }, reply) => {
    const found = await takedowns.of(params.subject);
    return found.ok ? { subject: found.value } : sendProblem(reply, "not_found", found.detail);
  });
  server.post<{ Params: Named; Body: Of<typeof imposeBody> }>(
    "/ops/takedowns/:subject/impose",
    { schema: { body: imposeBody.schema } },
    async (request, reply) => {
      const { statement_of_reasons } = request.body;
      const asked = { ...request.params, statement_of_reasons, act: actOf(request) };
      const outcome = await takedowns.impose(asked);
      if (!outcome.ok) return sendProblem(reply, "not_found", outcome.detail);
      request.outcome = { changed: outcome.value.changed };
      return outcome.value;
    },
  );
  server.post<{ Params: Named; Body: Of<typeof liftBody> }>(
    "/ops/takedowns/:subject/lift",
    { schema: { body: liftBody.schema } },
    async (request, reply) => {
      const outcome = await takedowns.lift({ ...request.params, act: actOf(request) });
      if (!outcome.ok) return sendProblem(reply, "not_found", outcome.detail);
      request.outcome = { changed: outcome.value.changed };
      return outcome.value;
    },
  );
}
