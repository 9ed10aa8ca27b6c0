// Decides which failures are retried: only requests that were certainly not served (specification, «D. Tool server»).

import { backOffMs } from "../std/back-off.ts";
import { SvcConnectionError, SvcProblemError } from "./errors.ts";

export interface RetryPolicy {
  /** Total number of attempts, including the first. */
  readonly maxAttempts: number;
  /** A longer Retry-After is not waited for; the error is passed to the caller. */
  readonly maxDelayMs: number;
}

export const defaultRetry: RetryPolicy = { maxAttempts: 3, maxDelayMs: 5_000 };

const firstDelayMs = 200;

/** Milliseconds to wait before the next attempt, or null if there is none. `attempt` counts from 1. */
export function decideRetry(error: unknown, attempt: number, policy: RetryPolicy): number | null {
  if (attempt >= policy.maxAttempts) return null;
  const ownMs = backOffMs(attempt, { firstMs: firstDelayMs, maxMs: policy.maxDelayMs });
  if (error instanceof SvcConnectionError) return error.effect === "not_applied" ? ownMs : null;
  if (!(error instanceof SvcProblemError)) return null;
  if (error.status === 502 || error.status === 504) return ownMs;
  if (error.status !== 429 && error.status !== 503) return null;
  const delayMs = error.retryAfterSeconds === null ? ownMs : error.retryAfterSeconds * 1000;
  return delayMs <= policy.maxDelayMs ? delayMs : null;
}

/** Parses `Retry-After`, a number of seconds or an HTTP date (RFC 9110 §10.2.3), into seconds. */
export function parseRetryAfter(header: string | null, nowMs: number): number | null {
  if (header === null) return null;
  if (/^[0-9]{1,9}$/.test(header)) return Number(header);
  const atMs = Date.parse(header);
  return Number.isNaN(atMs) ? null : Math.max(0, Math.ceil((atMs - nowMs) / 1000));
}
