// What operators read of a node's actors, its counts and its cluster, for /metrics.

import type { Reading } from "../ops/metrics.ts";
import type { NodeCluster } from "./cluster.ts";
import { insightReadings } from "./insight-keeping.ts";
import { latePurgeReadings } from "./late-purges.ts";
import type { NodeServices } from "./services.ts";

/** The readings of the actors, the counts and the cluster. */
export function nodeReadings(services: NodeServices): readonly Reading[] {
  const stats = services.actors.stats();
  const counter = (name: string, help: string, value: number): Reading => ({
    name,
    help,
    kind: "counter",
    value,
  });
  return [
    gauge("svc_actors_active", "Actors in memory.", stats.active),
    gauge("svc_actors_waiting", "Commands and messages waiting in mailboxes.", stats.mailboxed),
    gauge(
      "svc_actors_quarantined",
      "Actors taken out of service after repeated crashes.",
      stats.quarantined.length,
    ),
    gauge(
      "svc_pushes_stalled",
      "Pushes on this node that made no step for ten minutes.",
      services.stalled.list().length,
    ),
    gauge(
      "svc_log_witnesses",
      "Witnesses that are asked to cosign the log's checkpoints.",
      services.logWitnesses.witnesses.length,
    ),
    gauge(
      "svc_log_witness_quorum",
      "Witnesses that have to cosign a checkpoint before it is served.",
      services.logWitnesses.policy.quorum,
    ),
    ...(services.domainProbe?.readings() ?? []),
    ...latePurgeReadings(services.latePurges.list(), services.clock.now()),
    gauge("svc_activities_waiting", "Work that waits for other work to end.", stats.activitiesWaiting),
    gauge("svc_actors_outbox", "Effects that have not been acknowledged yet.", stats.outboxPending),
    counter("svc_actors_commands_total", "Commands handled.", stats.commandsHandled),
    counter("svc_actors_commits_total", "Commits applied.", stats.commits),
    counter(
      "svc_actors_refused_commits_total",
      "Commits of this process refused by the fence.",
      stats.refusedCommits,
    ),
    counter(
      "svc_fence_refusals_total",
      "Commits of all nodes that were refused because another activation had the actor, as counted in the store.",
      services.fence.total(),
    ),
    counter("svc_actors_crashes_total", "Crashes of actors.", stats.crashes),
    ...(services.cluster === null ? [] : clusterReadings(services.cluster)),
    ...insightReadings(services.insight.figures()),
    gauge("svc_process_resident_bytes", "Resident memory of the process.", process.memoryUsage.rss()),
  ];
}

/** The additional readings of a cluster node. */
export function clusterReadings({
  membership,
  regionNames,
  transportStats,
}: Pick<NodeCluster, "membership" | "regionNames" | "transportStats">): readonly Reading[] {
  const members = regionNames.flatMap((region) => membership.view(region).members);
  return [
    gauge("svc_cluster_members", "Nodes of all regions, as known to this node.", members.length),
    gauge("svc_cluster_lease_held", "1 while this node may act.", membership.holdsLease() ? 1 : 0),
    gauge("svc_cluster_peers", "Nodes that this node calls.", transportStats()?.peers.length ?? 0),
  ];
}

function gauge(name: string, help: string, value: number): Reading {
  return { name, help, kind: "gauge", value };
}
