// One chunk of a push: every record's faults at once, generations from the business, signatures, versions, index.
// Repeatable: the business gives the same answer, signatures are deterministic, writes are upserts (C1).
//   C1. Redone after a crash at any point, it writes and signs the same bytes.
//   C2. A version is readable before any index knows its row.
//   C3. A region that cannot be reached does not hold up the push: it is named `unindexed` and told again.

import { indexDocument } from "../../collections/index-document.ts";
import type { CryptoPort, Signer } from "../../crypto/port.ts";
import { chunkCount } from "../../machines/push.ts";
import { concatBytes } from "../../protocol/bytes.ts";
import type { CollectionName } from "../../protocol/identifiers.ts";
import type { MerkleTree } from "../../protocol/merkle.ts";
import type { ContentLists } from "../../protocol/records/content-rules.ts";
import type { RecordHead, RecordStore, RecordVersion } from "../../storage/record-store.ts";
import type { RowChange } from "../../storage/row-index.ts";
import type { PushCommand, PushFacts, RowReference } from "../messages/push.ts";
import { pushRef, regionRef } from "../messages/refs.ts";
import type { RegionCommand, RowsReply } from "../messages/region.ts";
import type { ActivityContext } from "../system/definition.ts";
import type { LookAhead } from "./look-ahead.ts";
import { type PreparedChunk, prepareChunk } from "./prepare-chunk.ts";

export interface PushPorts {
  readonly records: RecordStore;
  readonly crypto: CryptoPort;
  readonly projection: Signer;
  readonly sidecar: Signer;
  readonly trees: { load(pushId: string, records: number): Promise<MerkleTree>; drop(pushId: string): void };
  readonly recordIdOf: (businessUuid: string, collection: CollectionName, localId: string) => string;
  /** Lists that the content rules judge by. */
  readonly lists: ContentLists;
  /** The region that pushes are processed in: their business is at home here. */
  readonly region: string;
  /** Regions whose indexes are told now. */
  readonly regions: () => readonly string[];
  /** Chunks made ready before their turn. */
  readonly ahead: LookAhead<PreparedChunk>;
}

/** Chunks made ready before their turn, of all pushes together: each holds a few hundred kilobytes. */
export const chunksAheadMax = 4;

export async function processChunk(
  ports: PushPorts,
  params: { readonly facts: PushFacts; readonly chunk: number },
  context: ActivityContext,
): Promise<PushCommand> {
  const { facts, chunk } = params;
  const prepared = await ports.ahead.take(keyOf(facts, chunk), () =>
    prepareChunk(ports, params, context.ask),
  );
  if (chunk + 1 < chunkCount(facts.records)) {
    const next = { facts, chunk: chunk + 1 };
    ports.ahead.begin(keyOf(facts, next.chunk), () => prepareChunk(ports, next, context.ask));
  }
  const changes = await storeVersions(ports, facts, prepared);
  const references = prepared.published.map(({ leaf, assignment }) => ({
    record_id: assignment.record_id,
    generation: assignment.generation,
    hash: leaf.claim.hash,
    change: assignment.change,
  }));
  const regions = changes.length > 0 ? ports.regions() : [];
  const told = await Promise.all(
    regions.map((region) =>
      region === ports.region
        ? applyRows(region, changes, context)
        : indexRows(region, { collection: facts.collection, references }, context),
    ),
  );
  const unindexed = regions.filter((_, index) => told[index] !== true);
  return { type: "chunk.settle", chunk, outcomes: prepared.outcomes, references, unindexed };
}

function keyOf(facts: PushFacts, chunk: number): string {
  return `${facts.push_id}/${chunk}`;
}

/** Stores the versions and gives the row changes for the indexes. */
async function storeVersions(
  ports: PushPorts,
  facts: PushFacts,
  { published, publishedAtMs }: PreparedChunk,
): Promise<readonly RowChange[]> {
  if (published.length === 0) return [];
  const tree =
    facts.path === "A"
      ? await ports.trees.load(pushRef(facts.business_uuid, facts.push_id).id, facts.records)
      : null;
  const versions: RecordVersion[] = [];
  const heads: RecordHead[] = [];
  const changes: RowChange[] = [];
  for (const { leaf, assignment, signed } of published) {
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
      sidecar: signed.sidecar,
      row: signed.row,
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
    changes.push({
      kind: "put",
      collection: facts.collection,
      ...common,
      change: assignment.change,
      row: signed.row,
      document: indexDocument(facts.collection as CollectionName, signed.projected),
    });
  }
  await ports.records.putVersions(versions, heads);
  return changes;
}

/** Tells the region's own index, with the rows. False when it cannot be reached now. */
function applyRows(
  region: string,
  changes: readonly RowChange[],
  context: ActivityContext,
): Promise<boolean> {
  return tell(region, { type: "rows.apply", work_id: workIdOf(context), changes }, context);
}

/** Tells any region's index, which reads the rows from its own store. False when it cannot be reached now. */
export function indexRows(
  region: string,
  rows: { readonly collection: string; readonly references: readonly RowReference[] },
  context: ActivityContext,
): Promise<boolean> {
  return tell(region, { type: "rows.index", work_id: workIdOf(context), ...rows }, context);
}

function workIdOf(context: ActivityContext): string {
  return `${context.actor.id}/${context.workId}`;
}

async function tell(region: string, command: RegionCommand, context: ActivityContext): Promise<boolean> {
  try {
    const reply = await context.ask<RowsReply>(regionRef(region), command);
    return reply.status === "applied";
  } catch {
    return false;
  }
}
