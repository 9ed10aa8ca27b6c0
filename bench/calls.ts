// Calls from one process to another, the same on both sides of the comparison: at maximum throughput, and at a steady rate.

import { type CpuTimes, cpuBetween, cpuTimes } from "./cpu-times.ts";
import { quantile } from "./rounds.ts";

/** Makes one call, and resolves with its answer. */
export type CallOnce = (command: CallCommand) => Promise<unknown>;

/** As long as a nonce claim, the most frequent call between nodes. */
export interface CallCommand {
  readonly type: string;
  readonly n: number;
  readonly nonce: string;
  readonly key_id: string;
  readonly expires_at_ms: number;
}

export interface CallAnswer {
  readonly n: number;
  readonly status: string;
  readonly claimed_at_ms: number;
}

export interface SaturatingLoad {
  readonly calls: number;
  /** Calls in flight at any time. */
  readonly callers: number;
}

export interface PacedLoad {
  readonly calls: number;
  readonly perSecond: number;
}

export interface CallsResult {
  readonly perSecond: number;
  /** Median and 99th percentile of one call; for a paced one measured from when it was due. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time of the calling process. */
  readonly cpu: CpuTimes;
}

/** Maximum paced calls in flight: more accumulate only when a process was suspended, and would be refused. */
const openMax = 4_096;
const keyId = "k".repeat(43);

export function commandOf(n: number): CallCommand {
  const nonce = n.toString(36).padStart(32, "n");
  return { type: "nonce.claim", n, nonce, key_id: keyId, expires_at_ms: 1_767_225_600_000 + n };
}

export function answerOf({ n, expires_at_ms: at }: CallCommand): CallAnswer {
  return { n, status: "claimed", claimed_at_ms: at - 60_000 };
}

/** Makes as many calls as possible with a number of callers, each of which waits for its answer. */
export async function saturate(call: CallOnce, { calls, callers }: SaturatingLoad): Promise<CallsResult> {
  const latenciesMs = new Float64Array(calls);
  const cpuBefore = cpuTimes();
  const startedMs = performance.now();
  let next = 0;
  const run = async (): Promise<void> => {
    while (next < calls) {
      const n = next;
      next += 1;
      const sentMs = performance.now();
      assertAnswer(n, await call(commandOf(n)));
      latenciesMs[n] = performance.now() - sentMs;
    }
  };
  await Promise.all(Array.from({ length: callers }, run));
  return resultOf(latenciesMs, startedMs, cpuBefore);
}

/** Makes calls at a steady rate, whether or not answers come; while `openMax` are unanswered the next ones are late. */
export async function pace(call: CallOnce, { calls, perSecond }: PacedLoad): Promise<CallsResult> {
  const latenciesMs = new Float64Array(calls);
  const cpuBefore = cpuTimes();
  const startedMs = performance.now();
  const dueMs = (n: number): number => startedMs + (n * 1_000) / perSecond;
  let answered = 0;
  const one = async (n: number): Promise<void> => {
    assertAnswer(n, await call(commandOf(n)));
    latenciesMs[n] = performance.now() - dueMs(n);
    answered += 1;
  };
  const made: Promise<void>[] = [];
  // Busy loop, so that a call leaves when it is due instead of when a timer fires.
  while (made.length < calls) {
    while (made.length < calls && made.length - answered < openMax && dueMs(made.length) <= performance.now())
      made.push(one(made.length));
    await new Promise(setImmediate);
  }
  await Promise.all(made);
  return resultOf(latenciesMs, startedMs, cpuBefore);
}

function assertAnswer(n: number, answer: unknown): void {
  if ((answer as Partial<CallAnswer>).n !== n) throw new Error(`call ${n} got another's answer`);
}

function resultOf(latenciesMs: Float64Array, startedMs: number, cpuBefore: CpuTimes): CallsResult {
  const perSecond = (latenciesMs.length / (performance.now() - startedMs)) * 1_000;
  const cpu = cpuBetween(cpuBefore, cpuTimes());
  latenciesMs.sort();
  return { perSecond, p50Ms: quantile(latenciesMs, 0.5), p99Ms: quantile(latenciesMs, 0.99), cpu };
}
