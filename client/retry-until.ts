// Waiting for a service that is away for a while. Only for requests that may be repeated: reads, and resending an
// exact batch, which is resumed and never published twice.

import { backOffMs } from "../std/back-off.ts";
import { SvcConnectionError, SvcProblemError } from "./errors.ts";

export interface Patience {
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly wait: (delayMs: number) => Promise<void>;
  /** How long a request is repeated before its error is given up to the caller. */
  readonly patienceMs: number;
  readonly onWaiting: (waiting: { readonly delayMs: number; readonly error: Error }) => void;
}

const delays = { firstMs: 250, maxMs: 5_000 };
const passingStatuses = [429, 502, 503, 504];

/** Repeats `request` while it fails for reasons that pass. */
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

/** Whether the client's `error` may be another one, or none, in a while. */
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
