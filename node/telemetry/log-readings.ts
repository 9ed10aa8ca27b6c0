// How far the transparency log is, for /metrics. One node has the log's sequencer, and only that node shows them.

import { logRef } from "../../actors/messages/refs.ts";
import type { ActorReport } from "../../actors/system/definition.ts";
import { livesHere } from "../../cluster/placement.ts";
import type { LogSequencerContext } from "../../machines/log-sequencer.ts";
import type { Reading } from "../../ops/metrics.ts";
import type { NodeServices } from "../services.ts";

/** Empty on a node that does not have the sequencer. */
export async function logReadings({
  actors,
  cluster,
  clock,
}: Pick<NodeServices, "actors" | "cluster" | "clock">): Promise<readonly Reading[]> {
  if (cluster !== null && !livesHere(cluster.placement, logRef())) return [];
  return readingsOf(await actors.inspect(logRef()), clock.now());
}

/** A log that has nothing yet has no sequencer either. */
export function readingsOf(report: Pick<ActorReport, "context"> | null, nowMs: number): readonly Reading[] {
  const context = (report?.context ?? null) as LogSequencerContext | null;
  const secondsSince = (ms: number | null | undefined): number =>
    ms === null || ms === undefined ? 0 : Math.max(0, nowMs - ms) / 1_000;
  const gauge = (name: string, help: string, value: number): Reading => ({
    name,
    help,
    kind: "gauge",
    value,
  });
  return [
    gauge("svc_log_waiting_leaves", "Leaves that are not in the log yet.", context?.pending ?? 0),
    gauge(
      "svc_log_oldest_leaf_seconds",
      "How long the oldest of these leaves has waited; 0 if none waits.",
      secondsSince(context?.oldestMs),
    ),
    gauge("svc_log_leaves", "Leaves in the log.", context?.head.size ?? 0),
    gauge(
      "svc_log_published_leaves",
      "Leaves under the newest published checkpoint.",
      context?.published?.size ?? 0,
    ),
    gauge(
      "svc_log_unwitnessed_seconds",
      "How long witnesses have kept the next checkpoint back; 0 if none does.",
      secondsSince(context?.unwitnessed?.sinceMs),
    ),
    gauge(
      "svc_log_held_seconds",
      "How long the log has waited for its head to be confirmed; 0 if it is.",
      secondsSince(context?.held?.sinceMs),
    ),
  ];
}
