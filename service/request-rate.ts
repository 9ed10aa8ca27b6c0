// How many requests one key may send (specification, «Errors», 429): a leaky bucket for each, which
// drains steadily. Counted by this node alone; regional-limits.ts has the rate of a key at all nodes of a region.
//   B1. In any span of t seconds at most burst + perSecond·t requests of a key pass.
//   B2. A refused request adds nothing; it would pass a second later, since a second makes room for at least one.
//   B3. Keys that have not been used for long are forgotten, so their buckets are empty: memory is bounded.

import { BoundedMap } from "../std/bounded-map.ts";
import type { Refused } from "./answer.ts";
import { rateLimited } from "./rate-limited.ts";

export interface RequestRate {
  /** Null for a request that passes. */
  readonly take: (keyId: string) => Refused | null;
  /** The RateLimit-Policy item, and the RateLimit item for a key. */
  readonly policy: string;
  readonly standing: (keyId: string) => string;
}

export interface RequestRateOptions {
  /** A whole number of at least 1. */
  readonly perSecond: number;
  /** A whole number of at least 1. */
  readonly burst: number;
  /** Monotonic whole milliseconds since some instant. */
  readonly elapsedMs: () => number;
  readonly keysMax?: number;
}

/** The `reason` of the problem, and the name of the policy. */
const requestRateReason = "request_rate";

/** Thousandths of a request: `perSecond` of them drain from a bucket per millisecond, so all numbers are whole. */
const requestParts = 1_000;
const retrySeconds = 1;
export const limitedKeysMax = 100_000;

interface Bucket {
  parts: number;
  atMs: number;
}

export function createRequestRate(options: RequestRateOptions): RequestRate {
  const { perSecond, burst, elapsedMs } = options;
  if (!isCount(perSecond) || !isCount(burst)) throw new Error("A rate must be a whole number of requests.");
  const buckets = new BoundedMap<string, Bucket>(options.keysMax ?? limitedKeysMax);
  const partsMax = burst * requestParts;
  const partsAt = ({ parts, atMs }: Bucket, nowMs: number): number =>
    Math.max(0, parts - perSecond * (nowMs - atMs));
  return {
    policy: ratePolicy(options),
    standing: (keyId) => {
      const bucket = buckets.get(keyId);
      const parts = bucket === undefined ? 0 : partsAt(bucket, elapsedMs());
      return `"${requestRateReason}";r=${Math.floor((partsMax - parts) / requestParts)};t=${retrySeconds}`;
    },
    take: (keyId) => {
      const nowMs = elapsedMs();
      const bucket = buckets.get(keyId);
      if (bucket === undefined) {
        buckets.set(keyId, { parts: requestParts, atMs: nowMs });
        return null;
      }
      const left = partsAt(bucket, nowMs);
      if (left + requestParts > partsMax) return tooManyRequests(options, retrySeconds);
      bucket.parts = left + requestParts;
      bucket.atMs = nowMs;
      return null;
    },
  };
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 1;
}

type Rate = Pick<RequestRateOptions, "perSecond" | "burst">;

/** The RateLimit-Policy item. */
export function ratePolicy({ perSecond, burst }: Rate): string {
  return `"${requestRateReason}";q=${burst};w=${Math.ceil(burst / perSecond)}`;
}

export function tooManyRequests({ perSecond, burst }: Rate, seconds: number): Refused {
  const detail = `A key may send ${perSecond} requests a second, and ${burst} at once; send the request again later, with a new signature.`;
  return rateLimited(detail, { retry_after_seconds: seconds, reason: requestRateReason });
}
