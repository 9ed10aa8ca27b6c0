// One chunk of a push: every record's faults at once, generations from the business, signatures, versions, index.
// Repeatable: the business gives the same answer, signatures are deterministic, writes are upserts (C1).
//   C1. Redone after a crash at any point, it writes and signs the same bytes.
//   C2. A version is readable before any index knows its row.
//   C3. A region that cannot be reached does not hold up the push: it is named `unindexed` and told again.

import { indexDocument } from "../../collections/index-document.ts";
import type { CryptoPort, Signer } from "../../crypto/port.ts";
import { chunkSize } from "../../machines/push.ts";
import { concatBytes } from "../../protocol/bytes.ts";
import type { JsonObject } from "../../protocol/canonical-json.ts";
import { hashOf } from "../../protocol/hash.ts";
import type { CollectionName } from "../../protocol/identifiers.ts";
import { listingsOf } from "../../protocol/listings.ts";
import type { MerkleTree } from "../../protocol/merkle.ts";
import type { ContentLists } from "../../protocol/records/content-rules.ts";
import type { RecordHead, RecordStore, RecordVersion } from "../../storage/record-store.ts";
import type { RowChange } from "../../storage/row-index.ts";
import type { AssignReply, BusinessCommand, LeafAssignment, LeafClaim } from "../messages/business.ts";
import type { PublishOutcome, PushCommand, PushFacts, RecordFault } from "../messages/push.ts";
import type { RegionCommand, RowsReply } from "../messages/region.ts";
import type { ActivityContext } from "../system/definition.ts";
import { judgeLeaf } from "./judge-leaf.ts";
import { signVersions, type UnsignedVersion } from "./sign-versions.ts";

export interface PushPorts {
  readonly records: RecordStore;
  readonly crypto: CryptoPort;
  readonly projection: Signer;
  readonly sidecar: Signer;
  readonly trees: { load(pushId: string, records: number): Promise<MerkleTree>; drop(pushId: string): void };
  readonly recordIdOf: (businessUuid: string, collection: CollectionName, localId: string) => string;
  /** Lists that the content rules judge by. */
  readonly lists: ContentLists;
  /** Regions whose indexes are told. */
  readonly regions: readonly string[];
}

interface Leaf {
  readonly claim: LeafClaim;
  readonly bytes: Uint8Array;
  readonly record: JsonObject;
}

export async function processChunk(
  ports: PushPorts,
  params: { readonly facts: PushFacts; readonly chunk: number },
  context: ActivityContext,
): Promise<PushCommand> {
  const { facts, chunk } = params;
  const first = chunk * chunkSize;
  const bytes = await ports.records.loadLeaves(
    facts.push_id,
    first,
    Math.min(chunkSize, facts.records - first),
  );
  const outcomes: PublishOutcome[] = [];
  const leaves: Leaf[] = [];
  for (const [offset, leaf] of bytes.entries()) {
    const judged = judge(ports, facts, first + offset, leaf);
    if (judged.ok) leaves.push(judged.leaf);
    else outcomes.push(judged.outcome);
  }
  const assigned = await assign(facts, chunk, leaves, context);
  const published: { readonly leaf: Leaf; readonly assignment: LeafAssignment }[] = [];
  for (const [index, assignment] of assigned.assignments.entries()) {
    const leaf = leaves[index];
    if (!leaf) throw new Error("The business answered for a leaf that it was not asked about.");
    outcomes.push(outcomeOf(assignment));
    if (assignment.generation > 0) published.push({ leaf, assignment });
  }
  const changes = await publish(ports, facts, published, assigned.assigned_at_ms);
  const unindexed: string[] = [];
  for (const region of ports.regions) {
    if (changes.length > 0 && !(await applyRows(region, changes, context))) unindexed.push(region);
  }
  return {
    type: "chunk.settle",
    chunk,
    outcomes: outcomes.sort((a, b) => a.leaf_index - b.leaf_index),
    references: published.map(({ leaf, assignment }) => ({
      record_id: assignment.record_id,
      hash: leaf.claim.hash,
      change: assignment.change,
    })),
    unindexed,
  };
}

type Judged =
  | { readonly ok: true; readonly leaf: Leaf }
  | { readonly ok: false; readonly outcome: PublishOutcome };

function judge(ports: PushPorts, facts: PushFacts, leafIndex: number, bytes: Uint8Array): Judged {
  const collection = facts.collection as CollectionName;
  const judged = judgeLeaf(bytes, { collection, countries: facts.countries, lists: ports.lists });
  if (!judged.ok) return { ok: false, outcome: rejected(leafIndex, null, judged.faults) };
  // Every record type carries the business's own id under this name.
  const ownId = String(judged.record["business_product_id"]);
  const claim: LeafClaim = {
    leaf_index: leafIndex,
    record_id: ports.recordIdOf(facts.business_uuid, collection, ownId),
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
  context: ActivityContext,
): Promise<AssignReply> {
  const command: BusinessCommand = {
    type: "chunk.assign",
    push_id: facts.push_id,
    number: facts.number,
    chunk,
    collection: facts.collection,
    leaves: leaves.map((leaf) => leaf.claim),
  };
  return context.ask<AssignReply>({ kind: "business", id: facts.business_uuid }, command);
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

/** Signs rows and sidecars, stores the versions, and gives the row changes for the indexes. */
async function publish(
  ports: PushPorts,
  facts: PushFacts,
  published: readonly { readonly leaf: Leaf; readonly assignment: LeafAssignment }[],
  publishedAtMs: number,
): Promise<readonly RowChange[]> {
  if (published.length === 0) return [];
  const tree = facts.path === "A" ? await ports.trees.load(facts.push_id, facts.records) : null;
  const unsigned: UnsignedVersion[] = published.map(({ leaf, assignment }) => ({
    record: leaf.record,
    recordId: assignment.record_id,
    hash: leaf.claim.hash,
    generation: assignment.generation,
    change: assignment.change,
    isUpdate: assignment.outcome === "updated",
  }));
  const signed = await signVersions(ports, facts, unsigned, publishedAtMs);
  const versions: RecordVersion[] = [];
  const heads: RecordHead[] = [];
  const changes: RowChange[] = [];
  for (const [index, { leaf, assignment }] of published.entries()) {
    const parts = signed[index];
    if (!parts) throw new Error("A version was not signed.");
    const common = { record_id: assignment.record_id, business_uuid: facts.business_uuid };
    versions.push({
      ...common,
      type: facts.collection,
      generation: assignment.generation,
      hash: leaf.claim.hash,
      bytes: leaf.bytes,
      seal_id: facts.push_id,
      leaf_index: tree ? assignment.leaf_index : null,
      proof: tree ? concatBytes(...tree.path(assignment.leaf_index)) : new Uint8Array(),
      sidecar: parts.sidecar,
      row: parts.row,
      cert_id: facts.cert_id,
      published_at_ms: publishedAtMs,
    });
    heads.push({
      ...common,
      type: facts.collection,
      live: true,
      generation: assignment.generation,
      change: assignment.change,
      hash: leaf.claim.hash,
    });
    const document = indexDocument(facts.collection as CollectionName, parts.projected);
    changes.push({
      kind: "put",
      collection: facts.collection,
      ...common,
      change: assignment.change,
      row: parts.row,
      document,
    });
  }
  await ports.records.putVersions(versions, heads);
  return changes;
}

/** False when the region's index cannot be reached now. */
export async function applyRows(
  region: string,
  changes: readonly RowChange[],
  context: ActivityContext,
): Promise<boolean> {
  const command: RegionCommand = {
    type: "rows.apply",
    work_id: `${context.actor.id}/${context.workId}`,
    changes,
  };
  try {
    const reply = await context.ask<RowsReply>({ kind: "region", id: region }, command);
    return reply.status === "applied";
  } catch {
    return false;
  }
}
