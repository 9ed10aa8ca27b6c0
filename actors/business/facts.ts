// Read-only answers of the business actor.

import type { BusinessContext } from "../../machines/business.ts";
import type {
  BusinessCommand,
  KeyFacts,
  MandateFacts,
  PublishingFacts,
  RegisterReadReply,
} from "../messages/business.ts";
import type { ActorView } from "../system/definition.ts";
import { type RegisterRow, registerOf, rt } from "./rows.ts";

type FactsCommand = Extract<BusinessCommand, { type: "publishing.facts" }>;

export function publishingFacts({ key_id: keyId }: FactsCommand, view: ActorView): PublishingFacts {
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
  };
}

function keyStatus(key: KeyFacts): "live" | "revoked" {
  return key.revoked_at === null && key.compromised_from === null ? "live" : "revoked";
}

function mandatesOf(keyId: string, view: ActorView): readonly Omit<MandateFacts, "envelope">[] {
  return view
    .rowsOf(rt.register)
    .filter((row) => row.k2.startsWith("mandate/"))
    .map((row) => JSON.parse((JSON.parse(row.body) as RegisterRow).body) as MandateFacts)
    .filter((mandate) => mandate.key_id === keyId)
    .map(({ envelope: _envelope, ...facts }) => facts)
    .sort((a, b) => (a.valid_from < b.valid_from ? 1 : -1));
}

export function registerRead(keys: readonly string[], view: ActorView): RegisterReadReply {
  return {
    entries: keys.flatMap((key) => {
      const row = registerOf(view, key);
      if (!row) return [];
      const slash = key.indexOf("/");
      return [{ table: key.slice(0, slash), key: key.slice(slash + 1), ...row }];
    }),
  };
}
