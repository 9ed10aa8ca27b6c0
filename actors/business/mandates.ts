// Mandates of a business as rows: the whole mandate under its id, and without its envelope under its key.
//   M1. A mandate_id names one mandate of the business for ever: another mandate with that id is refused, the same one may be
//       accepted again.
//   M2. The mandates of a key are read together, those that end last first, so ended mandates never hide one that has not ended.
//       The number in force at once is limited to the number read; one more is refused.

import type { Envelope } from "../../protocol/dsse.ts";
import { formatTimestamp, parseTimestamp } from "../../protocol/identifiers.ts";
import type { PartitionRow, RowKey, RowSelection } from "../../storage/actor-store.ts";
import type {
  BusinessCommand,
  KeyFacts,
  ListedMandate,
  MandateFacts,
  PublishingFacts,
  RegisterReadReply,
} from "../messages/business.ts";
import type { RegisterReply } from "../messages/protocol.ts";
import type { ActorView } from "../system/definition.ts";
import {
  type BusinessView,
  factsIn,
  mandateEntries,
  mandatesByKey,
  publicName,
  type RegisterRow,
  registerOf,
} from "./rows.ts";

/** Maximum number of mandates of one key in force at once, which is also the number read. */
export const mandatesOfKeyMax = 50;

/** Selects the mandates of a key (M2), which {@link refusalOf} reads besides the mandate's own entry. */
export function selectMandatesOf(keyId: string): RowSelection {
  return mandatesByKey.selectPage(mandatesOfKeyMax, { k: 0, k2: `${keyId}/` });
}

/** The mandates of a key, newest first. */
function mandatesOf(keyId: string, view: ActorView): readonly ListedMandate[] {
  return indexed(keyId, view).toSorted((a, b) => (a.valid_from < b.valid_from ? 1 : -1));
}

function indexed(keyId: string, view: ActorView): readonly ListedMandate[] {
  return mandatesByKey
    .readAll(view)
    .filter(({ k2 }) => k2.startsWith(`${keyId}/`))
    .map(({ value }) => value);
}

/** Why a mandate is not accepted; null if it is accepted, `done` if it was accepted before. */
export function refusalOf(
  mandate: MandateFacts,
  known: RegisterRow | undefined,
  view: ActorView,
): RegisterReply | null {
  if (known !== undefined) {
    return isSame(mandate, factsIn("mandate", known))
      ? { status: "done" }
      : refused("mandate_id_taken", "The business has another mandate with this mandate_id.");
  }
  const entry = registerOf(view, `key/${mandate.key_id}`);
  const key = entry && factsIn("key", entry);
  if (key?.role !== "integration")
    return refused(
      "mandated_key_unknown",
      "A mandate must be for a registered integration key of its business.",
    );
  const now = formatTimestamp(view.nowMs);
  const hasEnded = key.valid_until !== null && key.valid_until <= now;
  if (key.revoked_at !== null || key.compromised_from !== null || hasEnded)
    return refused("mandated_key_not_valid", "The key that the mandate is for was revoked or has ended.");
  const live = indexed(mandate.key_id, view).filter(
    (each) => each.revoked_at === null && each.valid_until > now,
  ).length;
  return live < mandatesOfKeyMax
    ? null
    : refused(
        "too_many_mandates",
        `A key may have at most ${mandatesOfKeyMax} mandates that have not ended.`,
      );
}

function refused(code: string, detail: string): RegisterReply {
  return { status: "refused", code, detail };
}

/** Compares the sealed content: another signature over it, or a later change of status, does not make it another mandate. */
function isSame(mandate: MandateFacts, known: MandateFacts): boolean {
  const sealed = (facts: MandateFacts): string => {
    const { mandate_id, business_uuid, key_id, scope, valid_from, valid_until } = facts;
    const { record_types, countries, directions, caps, source_ip_allow_list } = scope;
    const { records_per_hour, bytes_per_day } = caps;
    return JSON.stringify([
      [mandate_id, business_uuid, key_id, valid_from, valid_until],
      [record_types, countries, directions, records_per_hour, bytes_per_day, source_ip_allow_list],
    ]);
  };
  return sealed(mandate) === sealed(known);
}

/** The row changes of a commit that stores the mandate. */
export function mandateRows(
  mandate: MandateFacts,
  row: RegisterRow,
  known: RegisterRow | undefined,
): { readonly puts: readonly PartitionRow[]; readonly deletes: readonly RowKey[] } {
  const { envelope, ...listed } = mandate;
  const name = indexName(mandate);
  const before = known && indexName(factsIn("mandate", known));
  return {
    puts: [
      mandateEntries.write(mandate.mandate_id, row),
      mandatesByKey.write(name, { ...listed, sealed_by: signerOf(envelope) }),
    ],
    deletes: before === undefined || before === name ? [] : [mandatesByKey.key(before)],
  };
}

/** Later than every timestamp, so the difference decreases as timestamps increase. */
const endless = 253_402_300_800_000;

/** `<key_id>/<how early it ends>/<mandate_id>`: sorted by name, the mandate that ends last comes first (M2). */
function indexName(mandate: Omit<ListedMandate, "sealed_by">): string {
  const early = endless - (parseTimestamp(endOf(mandate)) ?? 0);
  return `${mandate.key_id}/${String(early).padStart(15, "0")}/${mandate.mandate_id}`;
}

/** Timestamps have a fixed width, so their text sorts in the order of their instants. */
function endOf({
  valid_until: until,
  revoked_at: revoked,
}: Pick<ListedMandate, "valid_until" | "revoked_at">): string {
  return revoked !== null && revoked < until ? revoked : until;
}

function signerOf(envelope: string): string {
  return (JSON.parse(envelope) as Partial<Envelope>).signatures?.[0]?.keyid ?? "";
}

// The business actor's answers to read-only commands.

type FactsCommand = Extract<BusinessCommand, { type: "publishing.facts" }>;

/** What publishing with this key depends on, at one moment: party, certificate, policy, key and mandates. */
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

/** The entries of the register under these keys; those that do not exist are left out. */
export function registerRead(keys: readonly string[], view: BusinessView): RegisterReadReply {
  return {
    entries: keys.flatMap((key) => {
      const row = registerOf(view, key);
      if (!row) return [];
      return [{ ...publicName(key, row.partition), ...row }];
    }),
  };
}
