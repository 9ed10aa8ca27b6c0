// The business actor's answers to read-only commands.

import type { BusinessCommand, KeyFacts, PublishingFacts, RegisterReadReply } from "../messages/business.ts";
import { mandatesOf } from "./mandates.ts";
import { factsIn, publicName, registerOf } from "./rows.ts";
import type { BusinessView } from "./view.ts";

type FactsCommand = Extract<BusinessCommand, { type: "publishing.facts" }>;

export function publishingFacts({ key_id: keyId }: FactsCommand, view: BusinessView): PublishingFacts {
  const { context } = view.snapshot;
  const key = registerOf(view, `key/${keyId}`);
  return {
    at_ms: view.nowMs,
    party: context.party && { ...context.party, blocked_groups: context.blockedGroups },
    certificate: context.certificate && { ...context.certificate, uuid: context.uuid },
    policy: { ...context.policy, newest: context.policyVersions },
    key: key === undefined ? "unknown" : keyStatus(factsIn("key", key)),
    mandates: mandatesOf(keyId, view),
    listings: context.listings,
    pending: context.pending,
  };
}

/** A revoked or compromised key takes part in nothing new. */
export function keyStatus(key: KeyFacts): "live" | "revoked" {
  return key.revoked_at === null && key.compromised_from === null ? "live" : "revoked";
}

export function registerRead(keys: readonly string[], view: BusinessView): RegisterReadReply {
  return {
    entries: keys.flatMap((key) => {
      const row = registerOf(view, key);
      if (!row) return [];
      return [{ ...publicName(key, row.partition), ...row }];
    }),
  };
}
