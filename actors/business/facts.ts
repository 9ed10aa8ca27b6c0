// Read-only answers of the business actor.

import type { BusinessContext } from "../../machines/business.ts";
import { recordIdPrefix } from "../../protocol/identifiers.ts";
import type { BusinessCommand, KeyFacts, PublishingFacts, RegisterReadReply } from "../messages/business.ts";
import type { ActorView } from "../system/definition.ts";
import { mandatesOf } from "./mandates.ts";
import { parseHead, publicName, registerOf, rt } from "./rows.ts";

type FactsCommand = Extract<BusinessCommand, { type: "publishing.facts" }>;

export const businessFilePrefix = recordIdPrefix("business_files");

export function publishingFacts(
  { key_id: keyId, with_business_files: withFiles }: FactsCommand,
  view: ActorView,
): PublishingFacts {
  const context = view.snapshot.context as BusinessContext;
  const key = registerOf(view, `key/${keyId}`);
  return {
    party: context.party && { ...context.party, blocked_groups: context.blockedGroups },
    certificate: context.certificate && { ...context.certificate, uuid: context.uuid },
    policy: context.policy,
    key: key === undefined ? "unknown" : keyStatus(JSON.parse(key.body) as KeyFacts),
    mandates: mandatesOf(keyId, view),
    listings: context.listings,
    pending: context.pending,
    ...(withFiles ? { business_files: liveBusinessFiles(view) } : {}),
  };
}

function liveBusinessFiles(view: ActorView): readonly string[] {
  return view
    .rowsOf(rt.head)
    .filter((row) => row.k2.startsWith(businessFilePrefix) && parseHead(row.body).live)
    .map((row) => row.k2);
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
