// Writes the node's counts while it runs, and shows operators how that goes.

import type { LogEntry } from "../actors/system/ports.ts";
import { OutageLog } from "../cluster/outage-log.ts";
import type { Monotonic } from "../cluster/poller.ts";
import { nativeCrypto } from "../crypto/native.ts";
import type { Clock } from "../crypto/port.ts";
import type { Reading } from "../ops/metrics.ts";
import { createInsight, type Insight, type InsightFigures } from "../service/insight.ts";
import { flushRegularly } from "../service/insight-flushing.ts";
import { nodeTimers } from "./node-timers.ts";
import type { RetentionConfig } from "./retention-config.ts";
import type { NodeStores } from "./stores.ts";

export function insightOf(
  { insightStore: store }: Pick<NodeStores, "insightStore">,
  { analyticsDays: retentionDays }: RetentionConfig,
  parts: { readonly clock: Clock; readonly incarnation: string },
): Insight {
  return createInsight({ store, crypto: nativeCrypto, retentionDays, ...parts });
}

/** Starts writing; the returned function writes once more and stops. A store outage is logged in few lines. */
export function keepInsight(parts: {
  readonly insight: Insight;
  readonly clock: Clock;
  readonly monotonic: Monotonic;
  readonly log: (entry: LogEntry) => void;
}): () => Promise<void> {
  const { insight, clock, monotonic, log } = parts;
  const note = (level: LogEntry["level"], event: string, detail: string): void =>
    log({ level, event, actor: "", detail });
  const outage = new OutageLog({
    monotonic,
    failed: (detail) => note("warn", "insight.not_written", detail),
    over: (detail) => note("info", "insight.written", detail),
  });
  return flushRegularly({
    insight: {
      flush: () => outage.watch("the counts", () => insight.flush()),
      forget: (limit) => insight.forget(limit),
    },
    ...{ clock, timers: nodeTimers },
    failed: (error) => note("warn", "insight.not_forgotten", String(error)),
  });
}

export function insightReadings({ waiting, lost, excessive }: InsightFigures): readonly Reading[] {
  return [
    {
      ...{ name: "svc_insight_waiting", kind: "gauge", value: waiting },
      help: "Counts that are not written yet.",
    },
    {
      ...{ name: "svc_insight_lost_total", kind: "counter", value: lost },
      help: "What was not counted because the node already held too many counts.",
    },
    {
      ...{ name: "svc_insight_excessive_searches_total", kind: "counter", value: excessive },
      help: "Searches of sessions that search more often in a day than any conversation would.",
    },
  ];
}
