// The longest time for which the deciding thread worked without a break. Processor time is what the work itself took, while the lag of
// the event loop is also that of a machine that is busy with other things.

import type { Reading } from "../../ops/metrics.ts";

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
  return {
    ...{ name: "svc_longest_step_seconds", kind: "gauge", value: step.longestMs() / 1_000 },
    help: "The most processor time that the deciding thread took without a break in the last minute or two.",
  };
}
