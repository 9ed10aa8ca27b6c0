// How many requests one key may send (specification, «Errors», 429): a leaky bucket for each, which
// drains steadily. Counted by this node alone; regional-limits.ts has the rate of a key at all nodes of a region.
//   B1. In any span of t seconds at most burst + perSecond·t requests of a key pass.
//   B2. A refused request adds nothing; it would pass a second later, since a second makes room for at least one.
//   B3. Keys that have not been used for long are forgotten, so their buckets are empty: memory is bounded.

import { clausesMax } from "../../collections/parse-filter.ts";
import { type SearchRequest, searchLimits } from "../../collections/search-request.ts";
import { BoundedMap } from "../../std/bounded-map.ts";
import { addressBlock } from "../../std/ip-address.ts";
import { type Refused, rateLimited } from "../answer.ts";

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

/** The request rate of a key, counted by this node alone: a token bucket. */
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

/** The refusal of a request beyond the rate; `seconds` until there is room for one. */
export function tooManyRequests({ perSecond, burst }: Rate, seconds: number): Refused {
  const detail = `A key may send ${perSecond} requests a second, and ${burst} at once; send the request again later, with a new signature.`;
  return rateLimited(detail, { retry_after_seconds: seconds, reason: requestRateReason });
}

// What the searches and fetches of one key may cost per minute (specification, «Errors», 429). A key's minute starts
// with the first request that spends something after its last minute has ended. Counted by this node alone;
// regional-limits.ts has the budget of a key at all nodes of a region.
//   M1. At most the budget is spent in a key's minute.
//   M2. A refused request spends nothing; it passes at the latest once the minute has ended.
//   M3. Keys that have not been used for long are forgotten, together with what they spent: memory is bounded.

export interface QueryBudget {
  /** Null for a request that passes. */
  readonly spend: (keyId: string, cost: number) => Refused | null;
  /** The RateLimit-Policy item, and the RateLimit item for a key. */
  readonly policy: string;
  readonly standing: (keyId: string) => string;
}

export interface QueryBudgetOptions {
  /** At least {@link queryCostMax}, so that every request fits into a minute of its own. */
  readonly perMinute: number;
  /** Monotonic whole milliseconds since some instant. */
  readonly elapsedMs: () => number;
  readonly keysMax?: number;
}

export const minuteMs = 60_000;

interface Minute {
  spent: number;
  beganMs: number;
}

/** The query budget of a key per minute, counted by this node alone. */
export function createQueryBudget(options: QueryBudgetOptions): QueryBudget {
  const { perMinute, elapsedMs } = options;
  if (perMinute < queryCostMax) throw new Error("The most expensive request must fit into the budget.");
  const minutes = new BoundedMap<string, Minute>(options.keysMax ?? limitedKeysMax);
  return {
    policy: budgetPolicy(perMinute),
    standing: (keyId) => {
      const { spent, beganMs } = minutes.get(keyId) ?? { spent: 0, beganMs: 0 };
      const leftMs = beganMs + minuteMs - elapsedMs();
      return spent === 0 || leftMs <= 0
        ? `"query_cost";r=${perMinute};t=${minuteMs / 1_000}`
        : `"query_cost";r=${perMinute - spent};t=${Math.ceil(leftMs / 1_000)}`;
    },
    spend: (keyId, cost) => {
      const nowMs = elapsedMs();
      const minute = minutes.get(keyId);
      if (minute === undefined || nowMs - minute.beganMs >= minuteMs) {
        minutes.set(keyId, { spent: cost, beganMs: nowMs });
        return null;
      }
      if (minute.spent + cost > perMinute) return usedUp(perMinute, cost, minute.beganMs + minuteMs - nowMs);
      minute.spent += cost;
      return null;
    },
  };
}

/** The RateLimit-Policy item. */
export function budgetPolicy(perMinute: number): string {
  return `"query_cost";q=${perMinute};qu="query-cost";w=${minuteMs / 1_000}`;
}

/** The refusal of a search or fetch beyond the budget; `leftMs` until the minute is over. */
export function usedUp(perMinute: number, cost: number, leftMs: number): Refused {
  const detail = `This request costs ${cost}, and the searches and fetches of a key may cost ${perMinute} in a minute; send it again later, with a new signature.`;
  return rateLimited(detail, { retry_after_seconds: Math.ceil(leftMs / 1_000), reason: "query_cost" });
}

// What a search or a fetch costs of its key's budget, determined by the request alone, before anything is queried.
// Published in docs/choices.md.

const rowsPerUnit = 10;
const clausesPerUnit = 5;

export const fetchCost = 1;
/** A pool of ads has up to 20 of them, each with all that it needs to be verified. */
export const poolCost = 3;

/**
 * The sum of 1, 1 for each ten rows requested (rounded up), 1 for a `q`, and 1 for each five clauses besides the country
 * (rounded up).
 */
export function searchCost(request: Pick<SearchRequest, "limit" | "clauses" | "text">): number {
  return costOf(request.limit, request.clauses.length) + (request.text === undefined ? 0 : 1);
}

/** The cost of the most expensive request. */
export const queryCostMax = costOf(searchLimits.rowsMax, clausesMax - 1) + 1;

function costOf(rows: number, clauses: number): number {
  return 1 + Math.ceil(rows / rowsPerUnit) + Math.ceil(clauses / clausesPerUnit);
}

// How many requests per minute one network address may send, where no account is required. Counted by this node alone.
//   R1. Within its minute an address may send a fixed number, and all addresses together a bounded number.
//   R2. A bounded number of addresses is kept; the least recently seen one is evicted first.

export interface AddressRate {
  /** Null for a request that passes. */
  readonly take: (address: string) => Refused | null;
}

export interface AddressRateOptions {
  readonly perMinute: number;
  readonly allPerMinute: number;
  /** Monotonic whole milliseconds since some instant. */
  readonly elapsedMs: () => number;
  readonly addressesMax?: number;
}
const addressesMaxDefault = 10_000;

interface AddressMinute {
  beganMs: number;
  count: number;
}

/** What one address may begin in a minute, and all addresses together. */
export function createAddressRate(options: AddressRateOptions): AddressRate {
  const { perMinute, allPerMinute, elapsedMs } = options;
  const minutes = new BoundedMap<string, AddressMinute>(options.addressesMax ?? addressesMaxDefault);
  const all: AddressMinute = { beganMs: Number.NEGATIVE_INFINITY, count: 0 };
  return {
    take: (address) => {
      const nowMs = elapsedMs();
      const network = addressBlock(address);
      const own = minutes.get(network) ?? { beganMs: nowMs, count: 0 };
      minutes.set(network, own);
      for (const minute of [own, all]) {
        if (nowMs - minute.beganMs >= minuteMs) Object.assign(minute, { beganMs: nowMs, count: 0 });
      }
      const full = own.count >= perMinute ? own : all.count >= allPerMinute ? all : null;
      if (full !== null) return tooMany(perMinute, full.beganMs + minuteMs - nowMs);
      own.count += 1;
      all.count += 1;
      return null;
    },
  };
}

function tooMany(perMinute: number, leftMs: number): Refused {
  return rateLimited(`An address may send ${perMinute} of these requests a minute.`, {
    retry_after_seconds: Math.max(1, Math.ceil(leftMs / 1_000)),
    reason: "address_rate",
  });
}
