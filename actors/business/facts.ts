// Read-only answers of the business actor.

import type { BusinessContext } from "../../machines/business.ts";
import type { Envelope } from "../../protocol/dsse.ts";
import { recordIdPrefix } from "../../protocol/identifiers.ts";
import type {
  BusinessCommand,
  KeyFacts,
  ListedMandate,
  MandateFacts,
  PublishingFacts,
  RegisterReadReply,
} from "../messages/business.ts";
import type { ActorView } from "../system/definition.ts";
import { parseHead, type RegisterRow, registerOf, rt } from "./rows.ts";

type FactsCommand = Extract<BusinessCommand, { type: "publishing.facts" }>;

export const businessFilePrefix = recordIdPrefix("business_files");

export function publishingFacts(
  { key_id: keyId, with_business_files: withFiles }: FactsCommand,
  view: ActorView,
): PublishingFacts {
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

function mandatesOf(keyId: string, view: ActorView): readonly ListedMandate[] {
  return view
    .rowsOf(rt.register)
    .filter((row) => row.k2.startsWith("mandate/"))
    .map((row) => JSON.parse((JSON.parse(row.body) as RegisterRow).body) as MandateFacts)
    .filter((mandate) => mandate.key_id === keyId)
    .map(({ envelope, ...facts }) => ({ ...facts, sealed_by: signerOf(envelope) }))
    .sort((a, b) => (a.valid_from < b.valid_from ? 1 : -1));
}

function signerOf(envelope: string): string {
  return (JSON.parse(envelope) as Partial<Envelope>).signatures?.[0]?.keyid ?? "";
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
