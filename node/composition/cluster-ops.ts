// What the operations surface reports and does for a cluster.

import { logRef } from "../../actors/messages/refs.ts";
import type { ClusterOps, RefusedOrder } from "../../ops/cluster.ts";
import type { ClusterState } from "../../ops/shapes.ts";
import { formatHash } from "../../protocol/bytes.ts";
import { collectionNames } from "../../protocol/identifiers.ts";
import { indexSource } from "../../service/retrieval/index-source.ts";
import { verifyCheckpoint } from "../../verifier/log.ts";
import type { Acting, Keys, NodeServices } from "./capabilities.ts";
import type { NodeCluster } from "./cluster.ts";

/** Returns null for a standalone node. */
export function clusterOps(
  services: NodeServices,
  log: (event: string, detail: object) => void,
): ClusterOps | null {
  const { cluster } = services;
  if (cluster === null) return null;
  return {
    state: () => ({ ...stateOf(cluster), fence_refusals: services.fence.refusals() }),
    move: (party, to) => cluster.moves.move(party, to),
    declareDead: (order) => cluster.declareDead(order),
    putIn: async (region) => ((await cluster.putIn(region)) ? "put_in" : "region_unknown"),
    rejoin: (region) => cluster.rejoin(region),
    supplyCheckpoint: (note) => supplyCheckpoint(services, note),
    rebuild: async (collection) => beginRebuild(services, collection, log),
  };
}

/** Only what the log signed, and what the witnesses of the policy cosigned, can be its newest tree. */
export async function supplyCheckpoint(
  { actors, trust, logWitnesses }: Acting & Keys,
  note: string,
): Promise<string | RefusedOrder> {
  const read = verifyCheckpoint({ ...trust(), witnessPolicy: logWitnesses.policy }, note);
  if (!read.ok) return { outcome: read.code, detail: read.detail };
  const checkpoint = { size: read.value.size, root: formatHash(read.value.root), note };
  const { status } = await actors.ask(logRef(), { type: "log.supply", checkpoint });
  if (status === "taken") return status;
  return { outcome: "log_not_held", detail: "The log's sequencer does not wait for a checkpoint." };
}

function stateOf({
  region,
  membership,
  transportStats,
  regionNames,
}: NodeCluster): Omit<ClusterState, "fence_refusals"> {
  return {
    region,
    self: membership.self(),
    holds_lease: membership.holdsLease(),
    regions: regionNames.map((name) => ({
      ...membership.view(name),
      standing: membership.standing(name) ?? { region: name, status: "active", successor: null, version: 0 },
    })),
    transport: transportStats(),
  };
}

async function beginRebuild(
  { records, index, clock }: NodeServices,
  collection: string,
  log: (event: string, detail: object) => void,
): Promise<string> {
  const name = collectionNames.find((each) => each === collection);
  if (name === undefined) return "collection_unknown";
  const [{ rebuildIndex }, { ElasticRowIndex }] = await Promise.all([
    import("../../storage/elasticsearch/rebuild.ts"),
    import("../../storage/elasticsearch/row-index.ts"),
  ]);
  if (!(index instanceof ElasticRowIndex)) return "index_is_embedded";
  const source = indexSource(records, name);
  void rebuildIndex(index, { collection: name, source, nowMs: clock.now }).then(
    (outcome) => log("index.rebuilt", { collection: name, outcome }),
    (error: unknown) => log("index.rebuild_failed", { collection: name, err: error }),
  );
  return "begun";
}
