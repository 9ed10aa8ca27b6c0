// What must hold at rest of keys and mandates that came into force and went out of it.
//   F1. What was accepted was sealed and sent under a key and a mandate that were in force, as far as the people of the business
//       know: no end and no revocation was answered before it was sent.
//   F2. Every region states of a revoked key what its business stated: since when, and from which moment it was in other hands.
//   F3. By what a region states, a seal from that moment on falls, and an earlier one stands.
//   F4. What was accepted before a revocation was requested is published, unless it was held, or fell.

import type { KeyFacts } from "../../actors/messages/business.ts";
import type { PushReport } from "../../actors/messages/push.ts";
import { pushRef } from "../../actors/messages/refs.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { windowFault } from "../../protocol/keys/signatures.ts";
import type { RecordHead, RecordVersion } from "../../storage/record-store.ts";
import type { RegisterEntry } from "../../storage/register-store.ts";
import type { SentBatch } from "../workload/batch.ts";
import type { Journal, Removal, Revocation } from "../workload/journal.ts";
import type { Moment } from "../workload/key-changes.ts";
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

// What must hold at rest of what does not stand any more, and of what still does.
//   D1. What was received from the moment on from which its key was in other hands is served in no region.
//   D2. What stands is served, unless somebody removed it.
//   D3. A push that was given versions after its seal fell, or that fell without reason, shows that the chunks are not judged.

/** The compromise that the business stated of the batch's key, if its seal was received only from then on. */
function fellBy(journal: Journal, truth: Truth, { key, pushId }: SentBatch) {
  const revocation = journal.revocations.get(key.keyId);
  const receivedAt = truth.reports.get(pushId)?.facts.received_at;
  const from = revocation?.compromisedFrom ?? null;
  if (revocation === undefined || from === null || receivedAt === undefined) return null;
  return receivedAt >= from && Number.isFinite(revocation.doneAt) ? revocation : null;
}

export function checkStanding(world: World, journal: Journal, truth: Truth): void {
  const { observed } = world;
  for (const version of observed.versions.values()) {
    const batch = journal.batches.get(version.seal_id);
    if (batch === undefined) continue;
    const fallen = fellBy(journal, truth, batch);
    if (fallen !== null) checkFallen(world, version, fallen.doneMs);
  }
  for (const [recordId, owner] of truth.heads) {
    const newest = observed.versions.get(`${recordId}/${owner?.generation}`);
    const batch = newest === undefined ? undefined : journal.batches.get(newest.seal_id);
    if (owner === null || owner.live || batch === undefined || isTakenBack(journal, truth, recordId, batch))
      continue;
    observed.violate("what-stands-is-served", `${recordId} is not served, and nobody took it back`);
  }
  for (const batch of journal.batches.values()) {
    const code = truth.reports.get(batch.pushId)?.error?.code;
    if (code === "key_compromised" && fellBy(journal, truth, batch) === null)
      observed.violate("what-stands-is-served", `${batch.pushId} ended as ${code}, and was received before`);
  }
}

function checkFallen({ observed, parts }: World, version: RecordVersion, doneMs: number): void {
  const { record_id: id, generation, seal_id, published_at_ms: publishedMs } = version;
  observed.mark("record.fell");
  const heads = parts.stores.tables.of<RecordHead>("record_head");
  for (const region of parts.regions) {
    const head = heads.read(region, id);
    if (head?.live && head.generation === generation)
      observed.violate("fallen-is-not-served", `${id} of ${seal_id} fell and is served in ${region}`);
  }
  if (publishedMs > doneMs + skewMaxMs)
    observed.violate("fallen-publishes-nothing", `${seal_id} fell, and published ${id} after that`);
}

/** Whether the record may be out of serving: somebody removed it, or its seal may have fallen. */
function isTakenBack(journal: Journal, truth: Truth, recordId: string, batch: SentBatch): boolean {
  const receivedAt = truth.reports.get(batch.pushId)?.facts.received_at ?? "";
  const sealedAt = formatTimestamp(batch.sealedAtMs);
  const by = sealedAt < receivedAt ? sealedAt : receivedAt;
  const revocation = journal.revocations.get(batch.key.keyId);
  const mandates = journal.standing.of(batch.key.keyId)?.mandates ?? [];
  return (
    fellBy(journal, truth, batch) !== null ||
    journal.removals.some((removal) => removal.recordId === recordId) ||
    // By a clock that is ahead, it was received after an end that came later.
    (revocation !== undefined && by >= revocation.revokedAt) ||
    mandates.some(({ revokedFrom }) => revokedFrom < Number.POSITIVE_INFINITY)
  );
}
