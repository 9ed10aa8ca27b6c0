// The allowances that this node spends, and what becomes of slices that nobody needs any more.
// Also the writing of the node's counts, and the following of the register's changes.

import type { LogEntry, TimerPort } from "../../actors/system/ports.ts";
import { OutageLog } from "../../cluster/cluster-view.ts";
import type { Monotonic } from "../../cluster/poller.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import type { Clock } from "../../crypto/port.ts";
import { counter, gauge, type Reading } from "../../ops/metrics.ts";
import { type Allowance, createAllowance } from "../../service/money/allowance.ts";
import type { Register } from "../../service/register/register.ts";
import {
  createInsight,
  flushRegularly,
  type Insight,
  type InsightFigures,
} from "../../service/retrieval/insight.ts";
import { repeat } from "../../std/back-off.ts";
import type { Acting, Process, Stores } from "../composition/capabilities.ts";
import type { JudgingFiles } from "../configuration/operator-files.ts";
import type { RetentionConfig } from "../configuration/retention.ts";
import { nodeTimers } from "./node-timers.ts";

const giveBackEveryMs = 5_000;

/** Of a node in production. Nothing is charged until prices are in force. */
export function allowanceOf({
  config,
  actors,
  operatorFiles,
  lease,
  clock,
  elapsedMs,
}: Process & Acting & JudgingFiles): Allowance {
  const holder = (): string | null => {
    const incarnation = lease();
    return incarnation === null ? null : `${config.region}/${incarnation}`;
  };
  return createAllowance({ actors, prices: operatorFiles.prices, holder, clock, elapsedMs });
}

/** Gives back what is idle; the returned function stops that and gives back everything. */
export function keepAllowance(allowance: Allowance | null, timers: TimerPort): () => Promise<void> {
  if (allowance === null) return () => Promise.resolve();
  const stop = repeat({ everyMs: giveBackEveryMs, timers, run: () => allowance.giveBack("idle") });
  return async () => {
    const given = allowance.giveBack("all");
    await stop();
    await given;
  };
}

// Writes the node's counts while it runs, and shows operators how that goes.

export function insightOf(
  { insightStore: store }: Stores,
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
    clock,
    timers: nodeTimers,
    failed: (error) => note("warn", "insight.not_forgotten", String(error)),
  });
}

export function insightReadings({ waiting, lost, excessive }: InsightFigures): readonly Reading[] {
  return [
    gauge("svc_insight_waiting", "Counts that are not written yet.", waiting),
    counter(
      "svc_insight_lost_total",
      "What was not counted because the node already held too many counts.",
      lost,
    ),
    counter(
      "svc_insight_excessive_searches_total",
      "Searches of sessions that search more often in a day than any conversation would.",
      excessive,
    ),
  ];
}

// Follows the register's changes while a node runs.
//   F1. Refreshes never overlap; the next one starts its interval after the previous one has ended.
//   F2. A store outage is logged in few lines: at once, once a minute with the count, and once when it is over.
//   F3. After the stop no refresh starts. The stop completes when the refresh under way does; its outcome is not logged,
//       because the node is leaving.

export interface RegisterFollowing {
  readonly register: Register;
  readonly timers: TimerPort;
  readonly monotonic: Monotonic;
  readonly log: (entry: LogEntry) => void;
}

/** How often the register's changes are polled. */
export const refreshMs = 1_000;

/** Starts polling; the returned function stops it (F3). */
export function followRegister({ register, timers, monotonic, log }: RegisterFollowing): () => Promise<void> {
  let isStopped = false;
  const note = (level: LogEntry["level"], event: string, detail: string): void => {
    if (!isStopped) log({ level, event, actor: "", detail });
  };
  const outage = new OutageLog({
    monotonic,
    failed: (detail) => note("warn", "register.refresh_failed", detail),
    over: (detail) => note("info", "register.refresh_succeeded", detail),
  });
  const run = (): Promise<void> => outage.watch("the register", () => register.refresh());
  const stop = repeat({ everyMs: refreshMs, timers, run });
  return () => {
    isStopped = true;
    return stop();
  };
}
