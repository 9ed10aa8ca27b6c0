// What operators see and order of a cluster: its views and member states, planned moves, regions lost and regained, index
// rebuilds. The operations surface listens on loopback or on a private operator network, and everything on it is for
// operators only.

import type { FastifyInstance, FastifyReply } from "fastify";
import { sendProblem } from "./reply.ts";
import { type Body, bodies, type ClusterState } from "./shapes.ts";

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
