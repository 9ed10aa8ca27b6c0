// What operators see and say of a cluster: its views and standings, planned moves, regions lost and back, indexes built anew.
// The operations surface listens on loopback or a network of the operators' own, as everything on it is theirs.

import type { FastifyInstance, FastifyReply } from "fastify";
import { problem, problemMediaType } from "../protocol/problem.ts";

export interface ClusterOps {
  /** Views, standings and connections, as this node knows them. */
  state(): object;
  /** The outcome's name: `moved` and `there` are successes. */
  move(party: string, to: string): Promise<string>;
  /** `declared` is the success. */
  declareDead(region: string, successor: string | null): Promise<string>;
  /** Puts a lost region's data centre into the keyspace again; `put_in` is the success. */
  putIn(region: string): Promise<string>;
  /** `rejoined` is the success. */
  rejoin(region: string): Promise<string>;
  /** Begins building the region's index of a collection anew; the outcome's name, `begun` for a success. */
  rebuild(collection: string): Promise<string>;
}

const successes: readonly string[] = ["moved", "there", "declared", "put_in", "rejoined", "begun"];
const region = { type: "string", pattern: "^[a-z]+-[a-z]+[0-9]+$" } as const;

/** Adds the addresses below `/ops/cluster`. */
export function addClusterRoutes(server: FastifyInstance, cluster: ClusterOps): void {
  server.get("/ops/cluster", async () => cluster.state());
  server.post<{ Body: { party: string; to: string } }>(
    "/ops/cluster/moves",
    { schema: { body: bodies.moves } },
    async ({ body }, reply) => tell(reply, await cluster.move(body.party, body.to)),
  );
  server.post<{ Body: { region: string; successor: string | null } }>(
    "/ops/cluster/declare-dead",
    { schema: { body: bodies.declareDead } },
    async ({ body }, reply) => tell(reply, await cluster.declareDead(body.region, body.successor)),
  );
  server.post<{ Body: { region: string } }>(
    "/ops/cluster/put-in",
    { schema: { body: bodies.putIn } },
    async ({ body }, reply) => tell(reply, await cluster.putIn(body.region)),
  );
  server.post<{ Body: { region: string } }>(
    "/ops/cluster/rejoin",
    { schema: { body: bodies.rejoin } },
    async ({ body }, reply) => tell(reply, await cluster.rejoin(body.region)),
  );
  server.post<{ Body: { collection: string } }>(
    "/ops/cluster/rebuild",
    { schema: { body: bodies.rebuild } },
    async ({ body }, reply) => tell(reply, await cluster.rebuild(body.collection)),
  );
}

const bodies = {
  moves: bodyOf({ party: { type: "string", format: "uuid" }, to: region }),
  declareDead: bodyOf({ region, successor: { anyOf: [region, { type: "null" }] } }),
  putIn: bodyOf({ region }),
  rejoin: bodyOf({ region }),
  rebuild: bodyOf({ collection: { type: "string" } }),
};

function bodyOf(properties: Readonly<Record<string, object>>): object {
  return { type: "object", properties, required: Object.keys(properties), additionalProperties: false };
}

function tell(reply: FastifyReply, outcome: string): FastifyReply {
  if (successes.includes(outcome)) return reply.send({ outcome });
  const found = problem("request_invalid", `Nothing was changed: ${outcome.replaceAll("_", " ")}.`, {
    reason: outcome,
  });
  return reply.code(found.status).header("content-type", problemMediaType).send(JSON.stringify(found));
}

const command = (description: string, body: object): object => ({
  post: {
    summary: description,
    requestBody: { required: true, content: { "application/json": { schema: body } } },
    responses: { 200: { description }, 400: { description: "Nothing was changed" } },
  },
});

const stateDescription = "Members, standings and connections as this node knows them";

/** For the surface's OpenAPI document. */
export const clusterPaths: Readonly<Record<string, object>> = {
  "/ops/cluster": {
    get: { summary: stateDescription, responses: { 200: { description: stateDescription } } },
  },
  "/ops/cluster/moves": command("Moves a party's home from this region to another", bodies.moves),
  "/ops/cluster/declare-dead": command("Declares a lost region dead", bodies.declareDead),
  "/ops/cluster/put-in": command("Puts a lost region's data centre into the keyspace again", bodies.putIn),
  "/ops/cluster/rejoin": command("Lets a rebuilt region in again", bodies.rejoin),
  "/ops/cluster/rebuild": command("Builds this region's index of a collection again", bodies.rebuild),
};
