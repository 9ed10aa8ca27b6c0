// Read-only answers of the business actor.

import type { BusinessContext } from "../../machines/business.ts";
import type { BusinessCommand, KeyFacts, PublishingFacts, RegisterReadReply } from "../messages/business.ts";
import type { ActorView } from "../system/definition.ts";
import { mandatesOf } from "./mandates.ts";
import { publicName, registerOf } from "./rows.ts";

type FactsCommand = Extract<BusinessCommand, { type: "publishing.facts" }>;

export function publishingFacts({ key_id: keyId }: FactsCommand, view: ActorView): PublishingFacts {
  const context = view.snapshot.context as BusinessContext;
  const key = registerOf(view, `key/${keyId}`);
  return {
    at_ms: view.nowMs,
    party: context.party && { ...context.party, blocked_groups: context.blockedGroups },
    certificate: context.certificate && { ...context.certificate, uuid: context.uuid },
    policy: context.policy,
    key: key === undefined ? "unknown" : keyStatus(JSON.parse(key.body) as KeyFacts),
    mandates: mandatesOf(keyId, view),
    listings: context.listings,
    pending: context.pending,
  };
}

function keyStatus(key: KeyFacts): "live" | "revoked" {
  return key.revoked_at === null && key.compromised_from === null ? "live" : "revoked";
}

export function registerRead(keys: readonly string[], view: ActorView): RegisterReadReply {
  return {
    entries: keys.flatMap((key) => {
      const row = registerOf(view, key);
      if (!row) return [];
      return [{ ...publicName(key, row.partition), ...row }];
    }),
  };
}
