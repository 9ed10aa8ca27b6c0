// What must hold at rest of what does not stand any more, and of what still does.
//   D1. What was received from the moment on from which its key was in other hands is served in no region.
//   D2. What stands is served, unless somebody removed it.
//   D3. A push that was given versions after its seal fell, or that fell without reason, shows that the chunks are not judged.

import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { RecordHead, RecordVersion } from "../../storage/record-store.ts";
import type { SentBatch } from "../workload/batch.ts";
import type { Journal } from "../workload/journal.ts";
import { skewMaxMs } from "../world/faults.ts";
import type { World } from "../world/world.ts";
import type { Truth } from "./at-rest.ts";

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
