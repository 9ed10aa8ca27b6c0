// The limits reported to a key with every answer: RateLimit-Policy and RateLimit
// (draft-ietf-httpapi-ratelimit-headers-11). They promise nothing: of what other nodes of the region spend, a node knows what it
// was told with its last lease.

import type { KeyBudget, KeyRate } from "./regional-limits.ts";

export type LimitFields = (keyId: string) => Readonly<Record<string, string>>;

/** Null if nothing is limited. */
export function limitFieldsOf(
  rate: Pick<KeyRate, "policy" | "standing"> | null,
  budget: KeyBudget | null,
): LimitFields | null {
  if (rate === null && budget === null) return null;
  const policy = [rate?.policy, budget?.policy].filter((each) => each !== undefined).join(", ");
  return (keyId) => ({
    "ratelimit-policy": policy,
    ratelimit: [rate?.standing(keyId), budget?.standing(keyId)]
      .filter((each) => each !== undefined)
      .join(", "),
  });
}
