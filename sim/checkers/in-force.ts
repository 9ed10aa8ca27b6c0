// What must hold at rest of keys and mandates that came into force and went out of it.
//   F1. What was accepted was sealed and sent under a key and a mandate that were in force, as far as the people of the business
//       know: no end and no revocation was answered before it was sent.
//   F2. Every region states of a revoked key what its business stated: since when, and from which moment it was in other hands.
//   F3. By what a region states, a seal from that moment on falls, and an earlier one stands.
//   F4. What was accepted before a revocation was requested is published, unless it was held, or fell (standing.ts).

import type { KeyFacts } from "../../actors/messages/business.ts";
import type { PushReport } from "../../actors/messages/push.ts";
import { pushRef } from "../../actors/messages/refs.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { RegisterEntry } from "../../storage/register-store.ts";
import { windowFault } from "../../verifier/key-window.ts";
import type { SentBatch } from "../workload/batch.ts";
import type { Journal, Removal, Revocation } from "../workload/journal.ts";
import type { Moment } from "../workload/key-standing.ts";
import { skewMaxMs } from "../world/faults.ts";
import type { World } from "../world/world.ts";
import type { Truth } from "./at-rest.ts";

export function checkInForce(world: World, journal: Journal, truth: Truth): void {
  const { observed } = world;
  for (const batch of journal.batches.values()) {
    const report = truth.reports.get(batch.pushId) ?? null;
    if (report === null) continue;
    const { keyId } = batch.key;
    const fault = faultOf(world, journal, { keyId, sealedAtMs: batch.sealedAtMs, sent: batch.firstSent });
    if (fault !== null) observed.violate("accepted-in-force", `${batch.pushId} was accepted ${fault}`);
    const revocation = journal.revocations.get(keyId);
    if (revocation !== undefined) checkEarlier(world, journal, { batch, report, revocation });
  }
  for (const removal of journal.removals) checkRemoval(world, journal, removal);
  for (const [keyId, revocation] of journal.revocations) {
    if (Number.isFinite(revocation.doneAt)) checkRevoked(world, journal, keyId, revocation);
  }
}

interface Sealed {
  readonly keyId: string;
  readonly sealedAtMs: number;
  readonly sent: Moment;
}

/** F1: why nobody may have accepted it; null if somebody may. */
function faultOf(world: World, journal: Journal, { keyId, sealedAtMs, sent }: Sealed): string | null {
  const key = journal.standing.of(keyId);
  if (key === undefined) return "under a key that is not registered";
  if (sealedAtMs >= key.untilMs || sent.ms > key.untilMs + skewMaxMs) return "under a key that had ended";
  if (sent.at > (journal.revocations.get(keyId)?.doneAt ?? Infinity))
    return "under a key that had been revoked";
  const mayCover = key.mandates.some(
    ({ fromMs, untilMs, revokedAt }) =>
      fromMs <= sealedAtMs &&
      sealedAtMs < untilMs &&
      sent.ms <= untilMs + skewMaxMs &&
      // A node that reads what is old does not know of a revocation.
      (world.mayReadOld || sent.at <= revokedAt),
  );
  return mayCover ? null : "without a mandate in force";
}

/** F1 of a withdrawal or deletion; sealed as it is first sent. */
function checkRemoval(world: World, journal: Journal, removal: Removal): void {
  if (!removal.isRemoved) return;
  const { keyId, sent } = removal;
  const fault = faultOf(world, journal, { keyId, sealedAtMs: sent.ms, sent });
  if (fault !== null)
    world.observed.violate("accepted-in-force", `${removal.document} was accepted ${fault}`);
}

/** F2, and with it F3. */
function checkRevoked(
  { observed, parts }: World,
  journal: Journal,
  keyId: string,
  revocation: Revocation,
): void {
  const { revokedAt, compromisedFrom } = revocation;
  const entries = parts.stores.tables.of<RegisterEntry>("register_entry");
  for (const region of parts.regions) {
    const entry = entries.read(region, `key/${keyId}`);
    const facts = entry && (JSON.parse(entry.body) as KeyFacts);
    if (facts !== null) checkSeals({ observed, journal, region }, facts, revocation);
    if (facts?.revoked_at !== revokedAt || facts.compromised_from !== compromisedFrom)
      observed.violate(
        "revocation-is-told",
        `${region} says of ${keyId} ${facts?.revoked_at} and ${facts?.compromised_from}, not ${revokedAt} and ${compromisedFrom}`,
      );
  }
}

/** F3. */
function checkSeals(
  {
    observed,
    journal,
    region,
  }: Pick<World, "observed"> & { readonly journal: Journal; readonly region: string },
  facts: KeyFacts,
  { revokedAt, compromisedFrom }: Revocation,
): void {
  for (const { seal_id } of observed.versions.values()) {
    const batch = journal.batches.get(seal_id);
    if (batch?.key.keyId !== facts.key_id) continue;
    const sealedAt = formatTimestamp(batch.sealedAtMs);
    const stands = sealedAt < revokedAt && (compromisedFrom === null || sealedAt < compromisedFrom);
    observed.mark(stands ? "seal.stands" : "seal.falls");
    const fault = windowFault(facts, sealedAt);
    if ((fault === null) !== stands)
      observed.violate(
        "earlier-seals-stand",
        `${seal_id}, sealed at ${sealedAt}, ${fault?.code ?? "stands"} in ${region}`,
      );
  }
}

/** F4. */
function checkEarlier(
  { observed }: World,
  journal: Journal,
  given: { readonly batch: SentBatch; readonly report: PushReport; readonly revocation: Revocation },
): void {
  const { batch, report, revocation } = given;
  if (batch.acknowledgedAt === null || batch.acknowledgedAt > revocation.askedAt) return;
  if (observed.holds.heldSinceMs(pushRef(batch.business.uuid, batch.pushId).id) !== undefined) return;
  const isRevoked = report.results.some(({ errors }) => errors.some(({ code }) => code === "key_revoked"));
  const isCancelled = report.error?.code === "cancelled" && !journal.cancelling.has(batch.pushId);
  if (isRevoked || isCancelled || report.error?.code === "key_revoked")
    observed.violate(
      "earlier-seals-stand",
      `${batch.pushId} was accepted before its key was revoked, and is ${report.state}: ${report.error?.code}`,
    );
}
