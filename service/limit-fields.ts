// The limits reported to a key with every answer: RateLimit-Policy and RateLimit
// (draft-ietf-httpapi-ratelimit-headers-11). They promise nothing: each node counts on its own.

import type { QueryBudget } from "./query-budget.ts";
import type { RequestRate } from "./request-rate.ts";

export type LimitFields = (keyId: string) => Readonly<Record<string, string>>;

/** Null if nothing is limited. */
export function limitFieldsOf(rate: RequestRate | null, budget: QueryBudget | null): LimitFields | null {
  if (rate === null && budget === null) return null;
  const policy = [rate?.policy, budget?.policy].filter((each) => each !== undefined).join(", ");
  return (keyId) => ({
    "ratelimit-policy": policy,
    ratelimit: [rate?.standing(keyId), budget?.standing(keyId)]
      .filter((each) => each !== undefined)
      .join(", "),
  });
}
