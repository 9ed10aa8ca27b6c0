// The operators' surface over what a test gives it. For tests.

import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { refuse } from "../protocol/result.ts";
import type { Revocations } from "../service/revocations.ts";
import { createMetrics } from "./metrics.ts";
import { buildOps, type OpsDeps } from "./server.ts";

export const report = { ref: { kind: "push", id: "bat_1" }, state: "processing" };
export const token = "an-operators-token-of-32-characters";
export const authorization = `Bearer ${token}`;
export const act = { by: "Ada at the desk", reason: "It was in a public repository." };

/** What a request that is injected names as its host. */
const hosts = ["localhost:80"];
const nothing = async () => refuse("unknown", "There is none.");

export const noRevocations: Revocations = {
  ...{ key: nothing, revokeKey: nothing, mandate: nothing, revokeMandate: nothing },
  ...{ certificate: nothing, endCertificate: nothing, revokeGrant: nothing, acts: async () => [] },
};

export function openOps(changes: Partial<OpsDeps> = {}): FastifyInstance {
  return buildOps({
    logger: pino({ level: "silent" }),
    incarnation: "t",
    access: { hosts, token, isLoopback: true },
    metrics: createMetrics(),
    readings: () => [{ name: "svc_actors_active", help: "Actors in memory.", kind: "gauge", value: 3 }],
    ready: async () => ({ ready: true, degraded: [], checks: { store: "ok" }, plain_text: [] }),
    inspect: async ({ kind, id }) => (kind === "push" && id === "bat_1" ? report : null),
    listActors: async (_kind, afterId) =>
      afterId === "" ? Array.from({ length: 100 }, (_, index) => `id-${index}`) : ["id-100"],
    revocations: noRevocations,
    audit: { record: () => {} },
    cluster: null,
    ...changes,
  });
}
