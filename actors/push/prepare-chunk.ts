// A chunk made ready: every record judged, generations given by the business, rows and sidecars signed. Nothing of it is
// stored here, and all of it can be made again: the business answers the same and signatures are deterministic.

import { chunkSize } from "../../machines/push.ts";
import type { JsonObject } from "../../protocol/canonical-json.ts";
import { hashOf } from "../../protocol/hash.ts";
import type { CollectionName } from "../../protocol/identifiers.ts";
import { listingsOf } from "../../protocol/listings.ts";
import { judgeRecord } from "../../protocol/records/judge-record.ts";
import type { AssignReply, BusinessCommand, LeafAssignment, LeafClaim } from "../messages/business.ts";
import type { PublishOutcome, PushFacts, RecordFault } from "../messages/push.ts";
import { businessRef, pushRef } from "../messages/refs.ts";
import type { ActivityContext } from "../system/definition.ts";
import type { PushPorts } from "./process-chunk.ts";
import { type SignedVersion, signVersions, type UnsignedVersion } from "./sign-versions.ts";

export interface Leaf {
  readonly claim: LeafClaim;
  readonly bytes: Uint8Array;
  readonly record: JsonObject;
}

export interface PreparedLeaf {
  readonly leaf: Leaf;
  readonly assignment: LeafAssignment;
  readonly signed: SignedVersion;
}

export interface PreparedChunk {
  /** Of all leaves, in leaf order. */
  readonly outcomes: readonly PublishOutcome[];
  readonly published: readonly PreparedLeaf[];
  readonly publishedAtMs: number;
}

/** `assigned` is called once the business gave the generations. */
export async function prepareChunk(
  ports: PushPorts,
  { facts, chunk }: { readonly facts: PushFacts; readonly chunk: number },
  { ask, assigned: tell }: { readonly ask: ActivityContext["ask"]; readonly assigned: () => void },
): Promise<PreparedChunk> {
  const first = chunk * chunkSize;
  const count = Math.min(chunkSize, facts.records - first);
  const bytes = await ports.records.loadLeaves(pushRef(facts.business_uuid, facts.push_id).id, first, count);
  // Going on would settle the chunk without them: the push waits instead, and is seen to be stalled.
  if (bytes.length < count) throw new Error(`A leaf of chunk ${chunk} of ${facts.push_id} is not staged.`);
  const outcomes: PublishOutcome[] = [];
  const leaves: Leaf[] = [];
  for (const [offset, leaf] of bytes.entries()) {
    const judged = judge(ports, facts, first + offset, leaf);
    if (judged.ok) leaves.push(judged.leaf);
    else outcomes.push(judged.outcome);
  }
  const assigned = await assign(facts, chunk, leaves, ask);
  tell();
  const kept: { readonly leaf: Leaf; readonly assignment: LeafAssignment }[] = [];
  for (const [index, assignment] of assigned.assignments.entries()) {
    const leaf = leaves[index];
    if (!leaf) throw new Error("The business answered for a leaf that it was not asked about.");
    outcomes.push(outcomeOf(assignment));
    if (assignment.generation > 0) kept.push({ leaf, assignment });
  }
  const signed = await signVersions(ports, facts, kept.map(unsignedOf), assigned.assigned_at_ms);
  return {
    outcomes: outcomes.sort((a, b) => a.leaf_index - b.leaf_index),
    published: kept.map((each, index) => ({ ...each, signed: signed[index] as SignedVersion })),
    publishedAtMs: assigned.assigned_at_ms,
  };
}

function unsignedOf({
  leaf,
  assignment,
}: {
  readonly leaf: Leaf;
  readonly assignment: LeafAssignment;
}): UnsignedVersion {
  return {
    record: leaf.record,
    recordId: assignment.record_id,
    hash: leaf.claim.hash,
    generation: assignment.generation,
    change: assignment.change,
    isUpdate: assignment.outcome === "updated",
  };
}

type Judged =
  | { readonly ok: true; readonly leaf: Leaf }
  | { readonly ok: false; readonly outcome: PublishOutcome };

function judge(ports: PushPorts, facts: PushFacts, leafIndex: number, bytes: Uint8Array): Judged {
  const collection = facts.collection as CollectionName;
  const known = ports.parsed.take(pushRef(facts.business_uuid, facts.push_id).id, leafIndex);
  const rules = { collection, countries: facts.countries, lists: ports.lists };
  const judged = judgeRecord(bytes, rules, known?.record);
  if (!judged.ok) return { ok: false, outcome: rejected(leafIndex, null, judged.faults) };
  // Every record type carries the business's own id under this name.
  const ownId = String(judged.record["business_product_id"]);
  const claim: LeafClaim = {
    leaf_index: leafIndex,
    record_id: known?.recordId ?? ports.recordIdOf(facts.business_uuid, collection, ownId),
    hash: hashOf(bytes, ports.crypto.sha256),
    business_product_id: ownId,
    listings: listingsOf(judged.record),
  };
  return { ok: true, leaf: { claim, bytes, record: judged.record } };
}

async function assign(
  facts: PushFacts,
  chunk: number,
  leaves: readonly Leaf[],
  ask: ActivityContext["ask"],
): Promise<AssignReply> {
  const command: BusinessCommand = {
    type: "chunk.assign",
    push_id: facts.push_id,
    number: facts.number,
    chunk,
    collection: facts.collection,
    leaves: leaves.map((leaf) => leaf.claim),
  };
  return ask<AssignReply>(businessRef(facts.business_uuid), command);
}

function rejected(
  leafIndex: number,
  recordId: string | null,
  errors: readonly RecordFault[],
): PublishOutcome {
  return { leaf_index: leafIndex, outcome: "rejected", record_id: recordId, version: null, errors };
}

function outcomeOf(assignment: LeafAssignment): PublishOutcome {
  const { leaf_index, record_id, outcome, generation } = assignment;
  if (outcome === "superseded") {
    return rejected(leaf_index, record_id, [
      {
        code: "superseded",
        pointer: "",
        detail: "A later push, withdrawal or deletion was already applied to this record.",
      },
    ]);
  }
  if (outcome === "duplicate") {
    return rejected(leaf_index, record_id, [
      {
        code: "duplicate_in_batch",
        pointer: "/business_product_id",
        detail: "An earlier leaf of this batch is the same product.",
      },
    ]);
  }
  return { leaf_index, outcome, record_id, version: generation, errors: [] };
}
