// What operators see and order of a cluster: its views and member states, planned moves, regions lost and regained, index
// rebuilds. The operations surface listens on loopback or on a private operator network, and everything on it is for
// operators only.

import type { FastifyInstance, FastifyReply } from "fastify";
import { anyText, described, integer, listOf, type Of, object, oneOf, optional } from "../protocol/shape.ts";
import { actOf, sendProblem } from "./acts.ts";
import { actorStatuses } from "./inspection-shapes.ts";
import { type Act, actMembers, type Body, bodies, type ClusterState } from "./shapes.ts";

export interface ClusterOps {
  /** The views, member states and connections, as this node knows them. */
  state(): ClusterState;
  /** Returns the name of the outcome: `moved` and `there` are successes. */
  move(party: string, to: string): Promise<string>;
  /** Declares a region dead; `declared` is the success. `force` is for a region whose nodes still send heartbeats. */
  declareDead(order: DeadRegion): Promise<string | RefusedOrder>;
  /** Adds a lost region's data centre back to the keyspace; `put_in` is the success. */
  putIn(region: string): Promise<string>;
  /** Lets a lost region rejoin; `rejoined` is the success. */
  rejoin(region: string): Promise<string>;
  /** Hands the newest checkpoint of the transparency log over to its sequencer, which waits for it; `taken` is the success. */
  supplyCheckpoint(note: string): Promise<string | RefusedOrder>;
  /** Starts a rebuild of the region's index for a collection; returns the name of the outcome, `begun` for a success. */
  rebuild(collection: string): Promise<string>;
}

export interface DeadRegion {
  readonly region: string;
  readonly successor: string;
  readonly force: boolean;
}

export interface RefusedOrder {
  readonly outcome: string;
  /** A sentence that says what prevents it. */
  readonly detail: string;
}

const successes: readonly string[] = ["moved", "there", "declared", "put_in", "rejoined", "begun", "taken"];
/** Adds the routes below `/ops/cluster`. */
export function addClusterRoutes(server: FastifyInstance, cluster: ClusterOps): void {
  server.get("/ops/cluster", async () => cluster.state());
  server.post<{ Body: Body<"moves"> }>(
    "/ops/cluster/moves",
    { schema: { body: bodies.moves.schema } },
    async ({ body }, reply) => tell(reply, await cluster.move(body.party, body.to)),
  );
  server.post<{ Body: Body<"declareDead"> }>(
    "/ops/cluster/declare-dead",
    { schema: { body: bodies.declareDead.schema } },
    async ({ body: { region, successor, force = false } }, reply) => {
      const detail = `${region} cannot take over from itself: name the region that does.`;
      if (successor === region) return tell(reply, { outcome: "own_successor", detail });
      return tell(reply, await cluster.declareDead({ region, successor, force }));
    },
  );
  server.post<{ Body: Body<"putIn"> }>(
    "/ops/cluster/put-in",
    { schema: { body: bodies.putIn.schema } },
    async ({ body }, reply) => tell(reply, await cluster.putIn(body.region)),
  );
  server.post<{ Body: Body<"rejoin"> }>(
    "/ops/cluster/rejoin",
    { schema: { body: bodies.rejoin.schema } },
    async ({ body }, reply) => tell(reply, await cluster.rejoin(body.region)),
  );
  server.post<{ Body: Body<"logCheckpoint"> }>(
    "/ops/cluster/log-checkpoint",
    { schema: { body: bodies.logCheckpoint.schema } },
    async ({ body }, reply) => tell(reply, await cluster.supplyCheckpoint(body.checkpoint)),
  );
  server.post<{ Body: Body<"rebuild"> }>(
    "/ops/cluster/rebuild",
    { schema: { body: bodies.rebuild.schema } },
    async ({ body }, reply) => tell(reply, await cluster.rebuild(body.collection)),
  );
}

function tell(reply: FastifyReply, answer: string | RefusedOrder): FastifyReply {
  const { outcome, detail } =
    typeof answer === "string" ? { outcome: answer, detail: `${answer.replaceAll("_", " ")}.` } : answer;
  if (!successes.includes(outcome))
    return sendProblem(reply, "request_invalid", `Nothing was changed: ${detail}`, { reason: outcome });
  reply.request.outcome = { outcome };
  return reply.send({ outcome });
}

// What operators do to one actor or one node. Each act names its author and the reason, and the state that the operator saw: if it
// is another by now, nothing is done. The node that has the actor does it.

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
        return tellResult(reply, await acting.act({ kind, id }, act, order));
      },
    );
  server.post<{ Params: { incarnation: string }; Body: DrainBody }>(
    "/ops/nodes/:incarnation/drain",
    { schema: { body: drainBody.schema } },
    async ({ params, body }, reply) =>
      tellResult(reply, await acting.drain(params.incarnation, body.expected)),
  );
}

function tellResult(reply: FastifyReply, result: ActResult): FastifyReply {
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
