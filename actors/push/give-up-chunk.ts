// A chunk that is given up: what of it is published stays published, and the rest is rejected.
//   G1. The business answers for the chunk once: if it had not been asked, it now gives no generation to any of the leaves,
//       so that no repetition publishes them later.
//   G2. A leaf whose version is stored counts as published: its head is written, and every region's index is notified.

import { chunkSize } from "../../machines/push.ts";
import type { RecordHead, VersionId } from "../../storage/record-store.ts";
import type { LeafAssignment } from "../messages/business.ts";
import type { PublishOutcome, PushFacts, RecordFault, RowReference } from "../messages/push.ts";
import { businessRef } from "../messages/refs.ts";
import type { Ask } from "../system/definition.ts";
import type { PushPorts } from "./ports.ts";
import { PushCancelled, sealedAtMs } from "./prepare-chunk.ts";
import type { PublishedChunk } from "./process-chunk.ts";

export const processingFailed = "processing_failed";

/** Throws while a store or the business cannot be reached. */
export async function giveUpChunk(
  ports: Pick<PushPorts, "records" | "regions">,
  { facts, chunk }: { readonly facts: PushFacts; readonly chunk: number },
  ask: Ask,
): Promise<PublishedChunk> {
  const { push_id, number, collection, business_uuid } = facts;
  const place = { push_id, number, chunk, collection, sealed_at_ms: sealedAtMs(facts) };
  const command = { type: "chunk.assign", ...place, leaves: [], refused: [] } as const;
  const assigned = await ask(businessRef(business_uuid), command);
  if (assigned.cancelled === true) throw new PushCancelled(assigned);
  const stored = await storedOf(ports, facts, assigned.assignments);
  const first = chunk * chunkSize;
  const count = Math.min(chunkSize, facts.records - first);
  const outcomes = Array.from({ length: count }, (_, offset) => outcomeOf(first + offset, stored));
  const references = [...stored.values()].map(({ reference }) => reference);
  return { outcomes, references, unindexed: references.length > 0 ? ports.regions() : [] };
}

interface StoredLeaf {
  readonly assignment: LeafAssignment;
  readonly reference: RowReference;
}

/** The leaves whose versions are stored, by leaf index (G2). */
async function storedOf(
  { records }: Pick<PushPorts, "records">,
  { business_uuid, collection, push_id }: PushFacts,
  assignments: readonly LeafAssignment[],
): Promise<ReadonlyMap<number, StoredLeaf>> {
  const stored = new Map<number, StoredLeaf>();
  const heads: RecordHead[] = [];
  for (const assignment of assignments.filter((each) => each.generation > 0)) {
    const { record_id, generation, change, leaf_index } = assignment;
    const [version] = await records.listVersions(record_id, generation + 1, 1);
    if (version?.generation !== generation) continue;
    const id: VersionId = { record_id, generation, hash: version.hash };
    const published = await records.readPublished(id);
    if (published?.seal_id !== push_id) continue;
    stored.set(leaf_index, { assignment, reference: { ...id, change } });
    heads.push({ ...id, business_uuid, type: collection, live: true, change });
  }
  if (heads.length > 0) await records.putHeads(heads);
  return stored;
}

function outcomeOf(leafIndex: number, stored: ReadonlyMap<number, StoredLeaf>): PublishOutcome {
  const published = stored.get(leafIndex)?.assignment;
  return {
    leaf_index: leafIndex,
    outcome: published?.outcome === "updated" ? "updated" : published ? "accepted" : "rejected",
    record_id: published?.record_id ?? null,
    version: published?.generation ?? null,
    errors: published ? [] : [failed],
  };
}

const failed: RecordFault = {
  code: processingFailed,
  pointer: "",
  detail: "The service could not process this record; publish it again in a new batch.",
};
