// What operators read of a node's actors, its counts and its cluster, for /metrics.

import { totalmem } from "node:os";
import { counter, gauge, type Reading } from "../../ops/metrics.ts";
import packageFile from "../../package.json" with { type: "json" };
import type { Allowance } from "../../service/money/allowance.ts";
import type { NodeConfig } from "../configuration/config.ts";
import { insightReadings } from "../keeping/allowance-keeping.ts";
import { latePurgeReadings } from "../keeping/late-purges.ts";
import { accountReadings, actorReadings, logReadings } from "../telemetry/actor-readings.ts";
import { backupReadings, diskReadings, diskSpace } from "../telemetry/disk.ts";
import { longestStepReading } from "../telemetry/timings.ts";
import type { Tracing } from "../telemetry/tracing.ts";
import type { NodeServices } from "./capabilities.ts";
import type { NodeCluster } from "./cluster.ts";

/** The readings of the actors, the counts and the cluster. What cannot be read now is left out. */
export async function nodeReadings(services: NodeServices): Promise<readonly Reading[]> {
  const stats = services.actors.stats();
  return [
    nodeInfo(services.config),
    ...actorReadings(services.actors.loads(), services.cluster?.regions() ?? [services.config.region]),
    ...allowanceReadings(services.allowance),
    ...accountReadings(services.actors.glances(), services.clock.now()),
    ...traceReadings(services.tracing),
    ...diskReadings(await diskSpace(services.config).catch(() => [])),
    ...(await logReadings(services).catch(() => [])),
    ...(await backupReadings(services.config.home, services.clock.now()).catch(() => [])),
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
    gauge(
      "svc_index_missing_collections",
      "Collections of which the region's index is missing: they cannot be searched until it is built.",
      services.missingIndexes().length,
    ),
    ...(services.domainProbe?.readings() ?? []),
    ...(services.webhooks?.readings() ?? []),
    ...latePurgeReadings(services.latePurges.list(), services.clock.now()),
    gauge("svc_activities_waiting", "Work that waits for other work to end.", stats.activitiesWaiting),
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
    longestStepReading(services.timings.longestStep),
    gauge("svc_process_resident_bytes", "Resident memory of the process.", process.memoryUsage.rss()),
    gauge(
      "svc_machine_memory_bytes",
      "Memory that the process may use: that of the machine, or of its container.",
      memoryBytes(),
    ),
  ];
}

/** A container's limit is 0, or beyond the machine's memory, where there is none. */
function memoryBytes(): number {
  return Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());
}

/** Always 1: its labels tell a query which node the other series are of. */
function nodeInfo({ region, environment }: Pick<NodeConfig, "region" | "environment">): Reading {
  const labels = { region, environment, version: packageFile.version };
  return gauge("svc_node_info", "1, with what the node is.", 1, labels);
}

/** A node that charges nothing shows zeros. */
export function allowanceReadings(allowance: Allowance | null): readonly Reading[] {
  const nothing = { companies: 0, leased: 0, exhausted: 0, unanswered: 0 };
  const { companies, leased, exhausted, unanswered } = allowance?.figures() ?? nothing;
  const refused = (reason: string, value: number): Reading =>
    counter(
      "svc_allowance_refusals_total",
      "Answers refused because a company's money was spent (exhausted), or its ledger could not be asked (unanswered).",
      value,
      { reason },
    );
  return [
    gauge("svc_allowance_companies", "Companies for which the node holds a slice of money.", companies),
    counter("svc_allowance_leases_total", "Slices of money that ledgers lent to the node.", leased),
    refused("exhausted", exhausted),
    refused("unanswered", unanswered),
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

/** A node that records nothing shows zeros. */
function traceReadings(tracing: Pick<Tracing, "figures"> | null): readonly Reading[] {
  const nothing = { sent: 0, overflowed: 0, refused: 0, waiting: 0 };
  const { sent, overflowed, refused, waiting } = tracing?.figures() ?? nothing;
  const help = "Spans that were not sent: the queue was full, or the collector did not take them.";
  const dropped = (reason: string, value: number): Reading =>
    counter("svc_trace_spans_dropped_total", help, value, { reason });
  return [
    counter("svc_trace_spans_total", "Spans that the collector took.", sent),
    dropped("queue_full", overflowed),
    dropped("not_taken", refused),
    gauge("svc_trace_spans_waiting", "Spans that wait for the collector.", waiting),
  ];
}
