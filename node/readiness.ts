// Whether a load balancer should route callers to this node. A failure of what all nodes of a region share, and can do
// without, takes none of them out: without the index, pushes, fetches and verification continue, and only searches get 503.

import type { ReadyReport } from "../ops/shapes.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import type { NodeServices } from "./services.ts";

/** The checks that may fail without stopping the node from serving. */
const dispensable = ["index"];
/** The caller gives up sooner than the index does. */
const indexAnswerMs = 1_000;

export async function readiness(services: NodeServices): Promise<ReadyReport> {
  const checks: Record<string, string> = {};
  const check = async (name: string, run: () => unknown): Promise<void> => {
    try {
      await run();
      checks[name] = "ok";
    } catch (error) {
      checks[name] = error instanceof Error ? error.message : String(error);
    }
  };
  await check("store", () => services.actorStore.dueActors(0, 1));
  await check("index", () => inTime(services.index.count("products")));
  await check("cluster", () => {
    if (services.lease() === null) throw new Error("no lease: the node joins again");
  });
  await check("keys", () => services.currentKeys.assertSigners(formatTimestamp(services.clock.now())));
  await check("register", () => {
    if (services.register.refreshedAtMs() === null) throw new Error("not read yet");
  });
  const failed = Object.keys(checks).filter((name) => checks[name] !== "ok");
  return {
    ready: failed.every((name) => dispensable.includes(name)),
    degraded: failed.filter((name) => dispensable.includes(name)),
    checks,
    plain_text: services.config.plainText,
  };
}

async function inTime(answer: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error("no answer within a second")), indexAnswerMs);
  await Promise.race([answer, late.promise]).finally(() => clearTimeout(timer));
}
