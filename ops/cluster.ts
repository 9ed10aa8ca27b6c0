// What operators see and order of a cluster: its views and member states, planned moves, regions lost and regained, index
// rebuilds. The operations surface listens on loopback or on a private operator network, and everything on it is for
// operators only.

import type { FastifyReply } from "fastify";
import {
  anyText,
  described,
  integer,
  listOf,
  type Of,
  object,
  oneOf,
  optional,
  type Shape,
} from "../protocol/shape.ts";
import { actOf, sendProblem } from "./acts.ts";
import { actorStatuses } from "./inspection-shapes.ts";
import { type OpsRoute, parameter, read, route } from "./route.ts";
import { type Act, actMembers, bodies, type ClusterState, clusterState } from "./shapes.ts";

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

const successes = ["moved", "there", "declared", "put_in", "rejoined", "begun", "taken"];
const commandOutcome = object({ outcome: described(oneOf(successes), "What was done.") });

function command<P extends string, B>(
  path: P,
  summary: string,
  body: Shape<B>,
  order: (body: B) => Promise<string | RefusedOrder>,
): OpsRoute {
  const answers = { 200: { description: summary, body: commandOutcome } };
  return route("POST", path, { summary, body, answers }, async (request, reply) =>
    tell(reply, await order(request.body)),
  );
}

/** The routes below `/ops/cluster`. */
export function clusterRoutes(cluster: ClusterOps): readonly OpsRoute[] {
  return [
    read(
      "/ops/cluster",
      {
        summary: "Members, standings and connections as this node knows them, and what the fence refused",
        answer: clusterState,
      },
      async () => cluster.state(),
    ),
    command(
      "/ops/cluster/moves",
      "Moves a party's home from this region to another",
      bodies.moves,
      ({ party, to }) => cluster.move(party, to),
    ),
    command(
      "/ops/cluster/declare-dead",
      "Declares a lost region dead",
      bodies.declareDead,
      async ({ region, successor, force = false }) => {
        const detail = `${region} cannot take over from itself: name the region that does.`;
        if (successor === region) return { outcome: "own_successor", detail };
        return cluster.declareDead({ region, successor, force });
      },
    ),
    command(
      "/ops/cluster/put-in",
      "Adds a lost region's data centre to the keyspace again",
      bodies.putIn,
      ({ region }) => cluster.putIn(region),
    ),
    command("/ops/cluster/rejoin", "Readmits a rebuilt region", bodies.rejoin, ({ region }) =>
      cluster.rejoin(region),
    ),
    command(
      "/ops/cluster/log-checkpoint",
      "Hands over the newest checkpoint of the transparency log after the loss of its home",
      bodies.logCheckpoint,
      ({ checkpoint }) => cluster.supplyCheckpoint(checkpoint),
    ),
    command(
      "/ops/cluster/rebuild",
      "Rebuilds this region's index of a collection",
      bodies.rebuild,
      ({ collection }) => cluster.rebuild(collection),
    ),
  ];
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

const actorActBody = object({ expected, ...actMembers });

/** The acts on an actor, each with what it does. */
const actorActs = {
  retry: "Tries again at once what waits for a retry: effects, or the restart after a crash",
  passivate: "Lets the actor leave memory once it has finished what it accepted",
  release: "Lifts a quarantine: the actor starts with its next message",
  cancel: "Cancels a push of which nothing is published yet",
} as const;
export type ActorAct = keyof typeof actorActs;
export const actorActNames = Object.keys(actorActs) as readonly ActorAct[];

const actorActOutcome = object({
  outcome: oneOf(["retried", "leaving", "released", "cancelled", "draining"]),
});
export type ActorActOutcome = Of<typeof actorActOutcome>["outcome"];

const drainBody = object({
  expected: object({ state: oneOf(["standalone", "joining", "active", "leaving"]) }),
  ...actMembers,
});

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
  drain(incarnation: string, expected: Of<typeof drainBody>["expected"]): Promise<ActResult>;
}

export const actorNames = [
  parameter("path", "kind", "Kind of actor, such as push."),
  parameter("path", "id", "Id of the actor, percent-encoded where necessary."),
];

export function actorActRoutes(acting: ActorActing): readonly OpsRoute[] {
  const answers = { 200: { description: "What was done", body: actorActOutcome } };
  const problems = ["not_found", "state_changed"] as const;
  return [
    ...actorActNames.map((act) =>
      route(
        "POST",
        `/ops/actors/:kind/:id/${act}`,
        { summary: actorActs[act], parameters: actorNames, body: actorActBody, answers, problems },
        async (request, reply) => {
          const order = { expected: request.body.expected, said: actOf(request) };
          return tellResult(reply, await acting.act(request.params, act, order));
        },
      ),
    ),
    route(
      "POST",
      "/ops/nodes/:incarnation/drain",
      {
        summary: "Has a node hand its actors over and stop",
        parameters: [parameter("path", "incarnation", "Incarnation of the node, as /ops/nodes lists it.")],
        body: drainBody,
        answers,
        problems,
      },
      async ({ params, body }, reply) =>
        tellResult(reply, await acting.drain(params.incarnation, body.expected)),
    ),
  ];
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
