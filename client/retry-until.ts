// Waits for a service that is temporarily unavailable. Only for idempotent requests: reads, and resending an exact batch,
// which is resumed and never published twice.

import { backOffMs } from "../std/back-off.ts";
import { SvcConnectionError, SvcProblemError } from "./errors.ts";

export interface Patience {
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly wait: (delayMs: number) => Promise<void>;
  /** How long a request is retried before its error is passed to the caller. */
  readonly patienceMs: number;
  readonly onWaiting: (waiting: { readonly delayMs: number; readonly error: Error }) => void;
}

const delays = { firstMs: 250, maxMs: 5_000 };
const passingStatuses = [429, 502, 503, 504];

/**
 * Repeats a request while it fails in passing (429, 502, 503, 504, `idempotency_in_progress`, no answer), after a growing
 * delay or that of `Retry-After`, as long as it fits the patience. Rejects with the last error.
 */
export async function retryUntil<T>(patience: Patience, request: () => Promise<T>): Promise<T> {
  const untilMs = patience.now() + patience.patienceMs;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await request();
    } catch (error) {
      const delayMs = delayAfter(error, attempt);
      if (delayMs === null || !(error instanceof Error) || patience.now() + delayMs > untilMs) throw error;
      patience.onWaiting({ delayMs, error });
      await patience.wait(delayMs);
    }
  }
}

/** Whether the client's `error` is transient, so that a later attempt may succeed or fail differently. */
export function isTransient(error: unknown): boolean {
  return delayAfter(error, 0) !== null;
}

function delayAfter(error: unknown, attempt: number): number | null {
  const delayMs = backOffMs(attempt + 1, delays);
  if (error instanceof SvcConnectionError) return delayMs;
  if (!(error instanceof SvcProblemError)) return null;
  const passes = passingStatuses.includes(error.status) || error.code === "idempotency_in_progress";
  if (!passes) return null;
  return error.retryAfterSeconds === null ? delayMs : Math.max(error.retryAfterSeconds * 1000, delayMs);
}
