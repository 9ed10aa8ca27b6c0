// What operators do to one actor or one node. Each act names its author and the reason, and the state that the operator saw: if it
// is another by now, nothing is done. The node that has the actor does it.

import type { FastifyInstance, FastifyReply } from "fastify";
import { anyText, described, integer, listOf, type Of, object, oneOf, optional } from "../protocol/shape.ts";
import { actOf } from "./acts.ts";
import { actorStatuses } from "./inspection-shapes.ts";
import { sendProblem } from "./reply.ts";
import { type Act, actMembers } from "./shapes.ts";

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

const expected = described(
  object({
    status: oneOf(actorStatuses),
    states: optional(described(listOf(anyText), "Exactly these paths, in any order.")),
    head: optional(described(count, "Exactly this number of commits.")),
  }),
  "What the operator saw. If it is different by now, the act is refused.",
);
export type ExpectedState = Of<typeof expected>;

export const actorActBody = object({ expected, ...actMembers });
type ActorActBody = Of<typeof actorActBody>;

/** The acts on an actor, each with what it does. */
export const actorActs = {
  retry: "Tries again at once what waits for a retry: effects, or the restart after a crash",
  passivate: "Lets the actor leave memory once it has finished what it accepted",
  release: "Lifts a quarantine: the actor starts with its next message",
  cancel: "Cancels a push of which nothing is published yet",
} as const;
export type ActorAct = keyof typeof actorActs;
export const actorActNames = Object.keys(actorActs) as readonly ActorAct[];

export const actorActOutcome = object({
  outcome: oneOf(["retried", "leaving", "released", "cancelled", "draining"]),
});
export type ActorActOutcome = Of<typeof actorActOutcome>["outcome"];

export const drainBody = object({
  expected: object({ state: oneOf(["standalone", "joining", "active", "leaving"]) }),
  ...actMembers,
});
type DrainBody = Of<typeof drainBody>;

export type ActRefusal =
  | { readonly refused: "unknown" }
  | { readonly refused: "state_changed"; readonly detail: string }
  /** The act has no meaning for the actor as it is, such as the release of one that is not quarantined. */
  | { readonly refused: "not_possible"; readonly detail: string };

export type ActResult = { readonly outcome: ActorActOutcome } | ActRefusal;

export interface ActorActing {
  act(
    ref: { readonly kind: string; readonly id: string },
    act: ActorAct,
    order: { readonly expected: ExpectedState; readonly said: Act },
  ): Promise<ActResult>;
  /** Has a node hand its actors over and stop. */
  drain(incarnation: string, expected: DrainBody["expected"]): Promise<ActResult>;
}

/** Adds the routes. */
export function addActorActs(server: FastifyInstance, acting: ActorActing): void {
  for (const act of actorActNames)
    server.post<{ Params: { kind: string; id: string }; Body: ActorActBody }>(
      `/ops/actors/:kind/:id/${act}`,
      { schema: { body: actorActBody.schema } },
      async (request, reply) => {
        const { kind, id } = request.params;
        const order = { expected: request.body.expected, said: actOf(request) };
        return tell(reply, await acting.act({ kind, id }, act, order));
      },
    );
  server.post<{ Params: { incarnation: string }; Body: DrainBody }>(
    "/ops/nodes/:incarnation/drain",
    { schema: { body: drainBody.schema } },
    async ({ params, body }, reply) => tell(reply, await acting.drain(params.incarnation, body.expected)),
  );
}

function tell(reply: FastifyReply, result: ActResult): FastifyReply {
  if ("outcome" in result) {
    reply.request.outcome = result;
    return reply.send(result);
  }
  if (result.refused === "unknown") return sendProblem(reply, "not_found", "There is nothing of this name.");
  if (result.refused === "state_changed") return sendProblem(reply, "state_changed", result.detail);
  return sendProblem(reply, "request_invalid", `Nothing was changed: ${result.detail}`, {
    reason: result.refused,
  });
}
