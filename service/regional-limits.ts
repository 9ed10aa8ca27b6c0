// The request rate and the query-cost budget of a key at all nodes of a region together (specification, «Errors», 429):
// each node leases slices of both from the key's actor in the region (leased-limit.ts).

import type { LeasedLimitName } from "../actors/messages/key-limits.ts";
import { keyLimitsRef } from "../actors/messages/refs.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import type { Refused } from "./answer.ts";
import { createLeasedLimit, type LeasedLimitOptions } from "./leased-limit.ts";
import { budgetPolicy, minuteMs, usedUp } from "./query-budget.ts";
import { queryCostMax } from "./query-cost.ts";
import type { MaybeLater } from "./register.ts";
import { limitedKeysMax, ratePolicy, tooManyRequests } from "./request-rate.ts";

/** The request rate of a key, counted by one node or by a region. */
export interface KeyRate {
  /** Null for a request that passes. */
  readonly take: (keyId: string) => MaybeLater<Refused | null>;
  /** The RateLimit-Policy item, and the RateLimit item for a key. */
  readonly policy: string;
  readonly standing: (keyId: string) => string;
}

/** The query-cost budget of a key, likewise. */
export interface KeyBudget extends Pick<KeyRate, "policy" | "standing"> {
  /** Null for a request that passes. */
  readonly spend: (keyId: string, cost: number) => MaybeLater<Refused | null>;
}

export interface RegionalLimitDeps extends Pick<LeasedLimitOptions, "nodes" | "elapsedMs"> {
  readonly actors: Pick<ActorSystem, "ask">;
  readonly region: string;
}

/** How long a request waits for a lease at most; then the node spends its own share. */
const leaseWithinMs = 1_000;

export function createRegionalRate(
  deps: RegionalLimitDeps,
  rate: { readonly perSecond: number; readonly burst: number },
): KeyRate {
  const { perSecond, burst } = rate;
  const limit = createLeasedLimit({
    ...commonOf(deps, "request_rate"),
    ...{ rule: { kind: "bucket", units: burst, per_second: perSecond }, costMax: 1 },
  });
  const refusalOf = (retryMs: number | null): Refused | null =>
    retryMs === null ? null : tooManyRequests(rate, secondsOf(retryMs));
  return {
    policy: ratePolicy(rate),
    standing: (keyId) => `"request_rate";r=${limit.standing(keyId)?.left ?? burst};t=1`,
    take: (keyId) => {
      const taken = limit.take(keyId, 1);
      return taken instanceof Promise ? taken.then(refusalOf) : refusalOf(taken);
    },
  };
}

export function createRegionalBudget(deps: RegionalLimitDeps, perMinute: number): KeyBudget {
  if (perMinute < queryCostMax) throw new Error("The most expensive request must fit into the budget.");
  const limit = createLeasedLimit({
    ...commonOf(deps, "query_cost"),
    ...{ rule: { kind: "window", units: perMinute, window_ms: minuteMs }, costMax: queryCostMax },
  });
  return {
    policy: budgetPolicy(perMinute),
    standing: (keyId) => {
      const { left, moreInMs } = limit.standing(keyId) ?? { left: perMinute, moreInMs: minuteMs };
      return `"query_cost";r=${left};t=${secondsOf(moreInMs)}`;
    },
    spend: (keyId, cost) => {
      const refusalOf = (retryMs: number | null): Refused | null =>
        retryMs === null ? null : usedUp(perMinute, cost, retryMs);
      const taken = limit.take(keyId, cost);
      return taken instanceof Promise ? taken.then(refusalOf) : refusalOf(taken);
    },
  };
}

function commonOf({ actors, region, nodes, elapsedMs }: RegionalLimitDeps, name: LeasedLimitName) {
  const lease: LeasedLimitOptions["lease"] = (keyId, request) =>
    actors.ask(
      keyLimitsRef(keyId, region),
      { type: "limit.lease", limit: name, ...request },
      { timeoutMs: leaseWithinMs },
    );
  return { lease, nodes, elapsedMs, keysMax: limitedKeysMax };
}

function secondsOf(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000));
}
