// What the searches and fetches of one key may cost per minute (specification, «Errors», 429). A key's minute starts
// with the first request that spends something after its last minute has ended. Counted by this node alone;
// regional-limits.ts has the budget of a key at all nodes of a region.
//   M1. At most the budget is spent in a key's minute.
//   M2. A refused request spends nothing; it passes at the latest once the minute has ended.
//   M3. Keys that have not been used for long are forgotten, together with what they spent: memory is bounded.

import { BoundedMap } from "../std/bounded-map.ts";
import type { Refused } from "./answer.ts";
import { queryCostMax } from "./query-cost.ts";
import { rateLimited } from "./rate-limited.ts";
import { limitedKeysMax } from "./request-rate.ts";

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

export function usedUp(perMinute: number, cost: number, leftMs: number): Refused {
  const detail = `This request costs ${cost}, and the searches and fetches of a key may cost ${perMinute} in a minute; send it again later, with a new signature.`;
  return rateLimited(detail, { retry_after_seconds: Math.ceil(leftMs / 1_000), reason: "query_cost" });
}
