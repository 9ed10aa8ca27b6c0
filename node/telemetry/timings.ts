// How long a node's commits and receipts take, and how many receipts it makes, for /metrics. The durations are by the process's
// monotonic clock, because the wall clock may be set while something is under way.

import { Counter, Histogram, Registry } from "prom-client";
import { gauge, type Reading } from "../../ops/metrics.ts";
import type { Receipts } from "../../service/retrieval/receipts.ts";
import { type ActorStore, storeWith } from "../../storage/actor-store.ts";
import type { ReceiptStore } from "../../storage/receipt-store.ts";

/** The upper bounds of the buckets, in seconds: from a commit of the embedded store to the time-out of a lost region. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface Timings {
  readonly registry: Registry;
  readonly longestStep: LongestStep;
  /** Wraps a store: the commits are timed by the kind of their actor. */
  watchCommits(store: ActorStore): ActorStore;
  /** Wraps what makes receipts: those that became durable are counted by what was served, and timed. */
  watchReceipts(receipts: Receipts): Receipts;
  /** Wraps the store in which the region closes its batches: the closed ones are counted. */
  watchBatches(store: ReceiptStore): ReceiptStore;
}

export function createTimings(): Timings {
  const registry = new Registry();
  const { commits, commitFailures, kept, keepSeconds, closed } = metricsIn(registry);
  return {
    registry,
    longestStep: watchLongestStep(),
    watchCommits: (store) =>
      storeWith(store, {
        commit: (commit) => {
          const fromMs = performance.now();
          const outcome = store.commit(commit);
          const { kind } = commit.ref;
          outcome.then(
            () => commits.observe({ kind }, (performance.now() - fromMs) / 1_000),
            () => commitFailures.inc(),
          );
          return outcome;
        },
      }),
    watchReceipts: (receipts) => ({
      sharesCommits: receipts.sharesCommits,
      begin: () => receipts.begin(),
      sign: (served) => receipts.sign(served),
      unsigned: (served) => receipts.unsigned(served),
      keep: async (receipt, after) => {
        const fromMs = performance.now();
        const keeping = await receipts.keep(receipt, after);
        keepSeconds.observe((performance.now() - fromMs) / 1_000);
        kept.inc({ kind: receipt.served.kind });
        return keeping;
      },
    }),
    watchBatches: (store) => ({
      sharesCommits: store.sharesCommits,
      append: (row, after) => store.append(row, after),
      retract: (row) => store.retract(row),
      openBatches: (region, beforeMinute, limit) => store.openBatches(region, beforeMinute, limit),
      readBatch: (region, batch) => store.readBatch(region, batch),
      closeBatch: async (...given) => {
        await store.closeBatch(...given);
        closed.inc();
      },
      readClosed: (region, batch) => store.readClosed(region, batch),
      keptBatches: (region, beforeMinute, limit) => store.keptBatches(region, beforeMinute, limit),
      forgetReceipts: (region, batch, limit) => store.forgetReceipts(region, batch, limit),
      closedBatches: (region, minute) => store.closedBatches(region, minute),
      readReceipt: (region, retrievalId) => store.readReceipt(region, retrievalId),
      listReceipts: (wanted) => store.listReceipts(wanted),
      listFacts: (wanted) => store.listFacts(wanted),
      readUsage: (wanted) => store.readUsage(wanted),
    }),
  };
}

function metricsIn(registry: Registry) {
  const registers = [registry];
  const kept = new Counter({
    name: "svc_receipts_total",
    help: "Receipts that became durable, by what was served.",
    labelNames: ["kind"],
    registers,
  });
  for (const kind of ["search", "fetch", "ad_pool"]) kept.inc({ kind }, 0);
  return {
    kept,
    commits: new Histogram({
      name: "svc_actors_commit_duration_seconds",
      help: "Time until the store answered a commit of an actor.",
      labelNames: ["kind"],
      buckets,
      registers,
    }),
    commitFailures: new Counter({
      name: "svc_actors_commit_failures_total",
      help: "Commits that the store did not answer; each is sent again.",
      registers,
    }),
    keepSeconds: new Histogram({
      name: "svc_receipt_write_duration_seconds",
      help: "Time until a receipt was durable; the answer waits for it.",
      buckets,
      registers,
    }),
    closed: new Counter({
      name: "svc_receipt_batches_closed_total",
      help: "Batches of receipts that this node closed for its region.",
      registers,
    }),
  };
}

// The longest time for which the deciding thread worked without a break. Processor time is what the work itself took, while the lag of
// the event loop is also that of a machine that is busy with other things.

/** Between two looks the thread may be busy with several steps, so a shorter step than this is not told from a few of them. */
const lookMs = 20;
/** A step is remembered for so long: a scrape that comes once a minute sees each. */
const rememberedMs = 60_000;

export interface LongestStep {
  /** Milliseconds of processor time. */
  longestMs(): number;
  close(): void;
}

export function watchLongestStep(): LongestStep {
  let known: { readonly ms: number; readonly atMs: number } = { ms: 0, atMs: 0 };
  let before: { readonly ms: number; readonly atMs: number } = known;
  let lastMs = threadMs();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    const spentMs = threadMs() - lastMs;
    lastMs += spentMs;
    // Two ages, so that what is told is the longest step of the last minute, and at most of the one before it as well.
    if (nowMs - known.atMs > rememberedMs) [before, known] = [known, { ms: 0, atMs: nowMs }];
    if (spentMs > known.ms) known = { ms: spentMs, atMs: known.atMs };
  }, lookMs);
  timer.unref();
  return { longestMs: () => Math.max(known.ms, before.ms), close: () => clearInterval(timer) };
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

export function longestStepReading(step: LongestStep): Reading {
  return gauge(
    "svc_longest_step_seconds",
    "The most processor time that the deciding thread took without a break in the last minute or two.",
    step.longestMs() / 1_000,
  );
}
