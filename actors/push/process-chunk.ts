// Processes one chunk of a push: all faults of every record, generations from the business, signatures, versions, index.
// It is repeatable: the business gives the same answer, signatures are deterministic, writes are upserts (C1).
//   C1. When it is repeated after a crash at any point, it writes and signs the same bytes.
//   C2. A version is readable before any index knows its row.
//   C3. A region whose index does not confirm does not hold up the push: it is listed as `unindexed` and notified again. If a
//       caller waits for the chunk, it waits for indexes only briefly: settled means stored, not searchable.
//   C4. A chunk may be published before those in front of it are settled: what it publishes is the same whenever it happens,
//       and of two changes of a record, the one with the higher number counts. Chunks are settled, and so reported to the
//       caller, in their order.
//   C5. What a chunk rejects is committed with its reasons before anything of the chunk is stored.

import { chunkCount } from "../../machines/push.ts";
import { concatBytes } from "../../protocol/bytes.ts";
import type { CollectionName } from "../../protocol/identifiers.ts";
import { boundedText } from "../../protocol/result.ts";
import { inSpan } from "../../std/tracing.ts";
import type { RecordHead, RecordVersion } from "../../storage/record-store.ts";
import type { RowChange } from "../../storage/row-index.ts";
import { FileUnfit } from "../../storage/staging-area.ts";
import type { CommandOf } from "../messages/protocol.ts";
import type { ChunkWork, PushCommand, PushFacts, RowReference, SettledOutcome } from "../messages/push.ts";
import { pushRef, regionRef } from "../messages/refs.ts";
import type { RegionProtocol } from "../messages/region.ts";
import type { ActivityContext } from "../system/definition.ts";
import type { ChunkFailures } from "./chunk-failures.ts";
import type { ChunkLimits, ChunkPipelines } from "./chunk-pipeline.ts";
import { giveUpChunk, processingFailed } from "./give-up-chunk.ts";
import type { PushPorts } from "./ports.ts";
import {
  type AssignedChunk,
  assignChunk,
  type ChunkWorkload,
  type PreparedChunk,
  PushCancelled,
  PushFallen,
  signChunk,
} from "./prepare-chunk.ts";
import { currentTrace } from "./times.ts";

/**
 * How long to wait for an index while a caller waits for the answer: long enough that an answered record is usually searchable
 * at once, and short enough that a caller barely notices an index that is unavailable.
 */
const inlineIndexWaitMs = 2_000;

/** Limits of the prefetch of chunks: each chunk holds a few hundred kilobytes. */
export const chunksAhead: ChunkLimits = { chunksMax: 6, pushesMax: 8 };

/** A chunk that is stored, and in the indexes of all regions except those in `unindexed`. */
export interface PublishedChunk {
  readonly outcomes: readonly SettledOutcome[];
  readonly references: readonly RowReference[];
  readonly unindexed: readonly string[];
  /** Absent for a chunk that was given up. */
  readonly times?: ChunkWork;
}

export interface ProcessDeps {
  readonly ports: PushPorts;
  readonly pipelines: ChunkPipelines<PublishedChunk>;
  readonly failures: ChunkFailures;
}

/** Returns the settlement of the chunk. The chunks behind it are published meanwhile (C4). */
export async function processChunk(
  deps: ProcessDeps,
  work: ChunkWorkload,
  context: ActivityContext<"push">,
): Promise<PushCommand> {
  try {
    return await publishOrGiveUp(deps, work, context);
  } catch (error) {
    if (error instanceof PushCancelled)
      return { type: "push.cancelled", ...(error.byOperator ? { by_operator: true } : {}) };
    if (error instanceof PushFallen) return { type: "push.fail", code: error.code, detail: error.message };
    throw error;
  }
}

async function publishOrGiveUp(
  { ports, pipelines, failures }: ProcessDeps,
  { facts, chunk, judged = false }: ChunkWorkload,
  context: ActivityContext<"push">,
): Promise<PushCommand> {
  const { id } = pushRef(facts.business_uuid, facts.push_id);
  const place = { chunk, chunks: chunkCount(facts.records) };
  const name = { push: id, chunk };
  try {
    const published = await pipelines.take(id, place, {
      begin: (each) => assignChunk(ports, { facts, chunk: each, judged }, context),
      finish: (assigned) => publishChunk(ports, { facts, assigned }, context),
    });
    failures.forget(name);
    return { type: "chunk.settle", chunk, ...published };
  } catch (error) {
    if (error instanceof FileUnfit) return unfit(error);
    const isOver = error instanceof PushCancelled || error instanceof PushFallen;
    if (isOver || !failures.isLast(name, error)) throw error;
    const givenUp = await giveUpChunk(ports, { facts, chunk }, context.ask);
    return {
      type: "chunk.settle",
      chunk,
      ...givenUp,
      failed: failureOf(`Chunk ${chunk + 1} could not be processed`, error),
    };
  }
}

/** What a push says that was given up because of `error`, in whole or in part. */
export function failureOf(what: string, error: unknown): { readonly code: string; readonly detail: string } {
  const why = boundedText(error instanceof Error ? error.message : String(error));
  return { code: processingFailed, detail: `${what}: ${why}` };
}

/** How a push ends whose file is not what its seal names any more. */
export function unfit({ message }: FileUnfit): PushCommand {
  return {
    type: "push.fail",
    code: "seal_invalid",
    detail: `${message} Upload it again, and seal it again.`,
  };
}

async function publishChunk(
  ports: PushPorts,
  { facts, assigned }: { readonly facts: PushFacts; readonly assigned: AssignedChunk },
  context: ActivityContext<"push">,
): Promise<PublishedChunk> {
  const { chunk } = assigned;
  const { tracer } = ports;
  const prepared = await inSpan(tracer, "sign versions", () => signChunk(ports, facts, assigned));
  const signedAtMs = context.nowMs();
  await rejectFirst(prepared, chunk, context);
  const changes = await inSpan(tracer, "store versions", () => storeVersions(ports, facts, prepared));
  const storedAtMs = changes.length > 0 ? context.nowMs() : null;
  const references = prepared.published.map(({ leaf, assignment }) => ({
    record_id: assignment.record_id,
    generation: assignment.generation,
    hash: leaf.hash,
    change: assignment.change,
  }));
  const regions = changes.length > 0 ? ports.regions() : [];
  const waitMs = facts.mode === "inline" ? inlineIndexWaitMs : undefined;
  const indexed: Record<string, number> = {};
  const told = await Promise.all(
    regions.map(async (region) => {
      const work_id = indexWork(context, chunk);
      const command: TellRows =
        region === ports.region
          ? { type: "rows.apply", work_id, changes }
          : { type: "rows.index", work_id, collection: facts.collection, references };
      const isIndexed = await tell(region, command, { context, waitMs });
      if (isIndexed) indexed[region] = context.nowMs();
      return isIndexed;
    }),
  );
  const unindexed = regions.filter((_, index) => told[index] !== true);
  const work = { indexed, signed_ms: signedAtMs, stored_ms: storedAtMs };
  return { outcomes: prepared.outcomes, references, unindexed, times: timesOf(assigned, work, ports) };
}

function timesOf(
  { begunAtMs, judgedAtMs, assigned_at_ms }: AssignedChunk,
  work: Pick<ChunkWork, "indexed" | "signed_ms" | "stored_ms">,
  { tracer }: Pick<PushPorts, "tracer">,
): ChunkWork {
  const begun = { begun_ms: begunAtMs, judged_ms: judgedAtMs, numbered_ms: assigned_at_ms };
  return { ...begun, ...work, ...currentTrace(tracer) };
}

/** See C5. The settlement of a chunk of which nothing is published says the same and is just as early. */
async function rejectFirst(
  { outcomes, published }: PreparedChunk,
  chunk: number,
  context: ActivityContext<"push">,
): Promise<void> {
  const rejected = outcomes.filter(({ outcome }) => outcome === "rejected");
  if (rejected.length === 0 || published.length === 0) return;
  await context.ask(context.actor, { type: "chunk.reject", chunk, outcomes: rejected });
}

/** Stores the versions and returns the row changes for the indexes. */
async function storeVersions(
  ports: PushPorts,
  facts: PushFacts,
  { published, publishedAtMs }: PreparedChunk,
): Promise<readonly RowChange[]> {
  if (published.length === 0) return [];
  const tree = facts.path === "A" ? await ports.leaves.tree(facts) : null;
  const versions: RecordVersion[] = [];
  const heads: RecordHead[] = [];
  const changes: RowChange[] = [];
  for (const { leaf, assignment, signed } of published) {
    const common = { record_id: assignment.record_id, business_uuid: facts.business_uuid };
    versions.push({
      ...common,
      type: facts.collection,
      generation: assignment.generation,
      hash: leaf.hash,
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
      hash: leaf.hash,
    });
    changes.push({
      kind: "put",
      collection: facts.collection,
      ...common,
      change: assignment.change,
      row: signed.row,
    });
  }
  await ports.records.putVersions(versions, heads);
  return changes;
}

/** Notifies any region's index, which reads the rows from its own store. Returns false if it cannot be reached now. */
export function indexRows(
  region: string,
  rows: {
    readonly collection: CollectionName;
    readonly chunk: number;
    readonly references: readonly RowReference[];
  },
  context: ActivityContext<"push">,
): Promise<boolean> {
  const { chunk, ...told } = rows;
  const command: TellRows = { type: "rows.index", work_id: indexWork(context, chunk), ...told };
  return tell(region, command, { context });
}

/**
 * The same name for a chunk, however often a region is notified: work that is still under way there is awaited, not
 * repeated.
 */
function indexWork({ actor }: ActivityContext<"push">, chunk: number): string {
  return `${actor.id}/chunk ${chunk}`;
}

type TellRows = CommandOf<RegionProtocol, "rows.apply"> | CommandOf<RegionProtocol, "rows.index">;

async function tell(
  region: string,
  command: TellRows,
  { context, waitMs }: { readonly context: ActivityContext<"push">; readonly waitMs?: number | undefined },
): Promise<boolean> {
  try {
    const reply = await context.ask(regionRef(region), command, { timeoutMs: waitMs });
    return reply.status === "applied";
  } catch {
    return false;
  }
}
