// What operators see and say of a cluster: its views and standings, planned moves, regions lost and back, indexes built anew.
// The operations surface listens on loopback or a network of the operators' own, as everything on it is theirs.

import type { FastifyInstance, FastifyReply } from "fastify";
import { type Act, actBody } from "./acts.ts";
import { sendProblem } from "./reply.ts";

export interface ClusterOps {
  /** Views, standings and connections, as this node knows them. */
  state(): object;
  /** The outcome's name: `moved` and `there` are successes. */
  move(party: string, to: string): Promise<string>;
  /** `declared` is the success. `force` for a region whose nodes still beat. */
  declareDead(order: DeadRegion): Promise<string | RefusedOrder>;
  /** Adds a lost region's data centre to the keyspace again; `put_in` is the success. */
  putIn(region: string): Promise<string>;
  /** `rejoined` is the success. */
  rejoin(region: string): Promise<string>;
  /** Begins building the region's index of a collection anew; the outcome's name, `begun` for a success. */
  rebuild(collection: string): Promise<string>;
}

export interface DeadRegion {
  readonly region: string;
  readonly successor: string | null;
  readonly force: boolean;
}

export interface RefusedOrder {
  readonly outcome: string;
  /** A sentence on what stands in the way. */
  readonly detail: string;
}

const successes: readonly string[] = ["moved", "there", "declared", "put_in", "rejoined", "begun"];
const force = {
  type: "boolean",
  description:
    "Declares a region dead although its nodes still write heartbeats: what had not reached another region is lost.",
};
const region = { type: "string", pattern: "^[a-z]+-[a-z]+[0-9]+$" } as const;

/** Adds the addresses below `/ops/cluster`. */
export function addClusterRoutes(server: FastifyInstance, cluster: ClusterOps): void {
  server.get("/ops/cluster", async () => cluster.state());
  server.post<{ Body: Act & { party: string; to: string } }>(
    "/ops/cluster/moves",
    { schema: { body: clusterBodies.moves } },
    async ({ body }, reply) => tell(reply, await cluster.move(body.party, body.to)),
  );
  server.post<{ Body: Act & { region: string; successor: string | null; force?: boolean } }>(
    "/ops/cluster/declare-dead",
    { schema: { body: clusterBodies.declareDead } },
    async ({ body: { region, successor, force = false } }, reply) =>
      tell(reply, await cluster.declareDead({ region, successor, force })),
  );
  server.post<{ Body: Act & { region: string } }>(
    "/ops/cluster/put-in",
    { schema: { body: clusterBodies.putIn } },
    async ({ body }, reply) => tell(reply, await cluster.putIn(body.region)),
  );
  server.post<{ Body: Act & { region: string } }>(
    "/ops/cluster/rejoin",
    { schema: { body: clusterBodies.rejoin } },
    async ({ body }, reply) => tell(reply, await cluster.rejoin(body.region)),
  );
  server.post<{ Body: Act & { collection: string } }>(
    "/ops/cluster/rebuild",
    { schema: { body: clusterBodies.rebuild } },
    async ({ body }, reply) => tell(reply, await cluster.rebuild(body.collection)),
  );
}

/** What is said to each address. */
export const clusterBodies = {
  moves: actBody({ party: { type: "string", format: "uuid" }, to: region }),
  declareDead: actBody({ region, successor: { anyOf: [region, { type: "null" }] } }, { force }),
  putIn: actBody({ region }),
  rejoin: actBody({ region }),
  rebuild: actBody({ collection: { type: "string" } }),
};

function tell(reply: FastifyReply, answer: string | RefusedOrder): FastifyReply {
  const { outcome, detail } =
    typeof answer === "string" ? { outcome: answer, detail: `${answer.replaceAll("_", " ")}.` } : answer;
  if (!successes.includes(outcome))
    return sendProblem(reply, "request_invalid", `Nothing was changed: ${detail}`, { reason: outcome });
  reply.request.outcome = { outcome };
  return reply.send({ outcome });
}
