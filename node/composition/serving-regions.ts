// The regions that a node's answers and actors reckon with.

import type { NodeServices } from "./services.ts";

/** The regions that have not been declared dead; the only one of a standalone node. */
export function servingRegions({
  config,
  cluster,
}: Pick<NodeServices, "config" | "cluster">): () => readonly string[] {
  return cluster === null ? () => [config.region] : cluster.regions;
}
