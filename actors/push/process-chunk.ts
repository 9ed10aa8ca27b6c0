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

import { chunkCount, chunkSize } from "../../machines/push.ts";
import { concatBytes } from "../../protocol/bytes.ts";
import type { CollectionName } from "../../protocol/identifiers.ts";
import { boundedText } from "../../protocol/result.ts";
import { BoundedMap } from "../../std/bounded-map.ts";
import { inSpan } from "../../std/tracing.ts";
import { Unavailable } from "../../std/unavailable.ts";
import { WorkerEnded } from "../../std/worker-calls.ts";
import { StoreError } from "../../storage/actor-store.ts";
import type { RecordHead, RecordVersion, VersionId } from "../../storage/record-store.ts";
import type { RowChange } from "../../storage/row-index.ts";
import { FileUnfit } from "../../storage/staging-area.ts";
import type { LeafAssignment } from "../messages/business.ts";
import type { CommandOf } from "../messages/protocol.ts";
import type {
  PublishOutcome,
  PushCommand,
  PushFacts,
  RecordFault,
  RowReference,
  SettledOutcome,
} from "../messages/push.ts";
import { businessRef, pushRef, regionRef } from "../messages/refs.ts";
import type { RegionProtocol } from "../messages/region.ts";
import type { ActivityContext, Ask } from "../system/definition.ts";
import type { PushPorts } from "./ports.ts";
import {
  type AssignedChunk,
  assertPublished,
  assignChunk,
  type ChunkWorkload,
  type PreparedChunk,
  PushCancelled,
  PushFallen,
  sealOf,
  signChunk,
} from "./prepare-chunk.ts";

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
  await rejectFirst(prepared, chunk, context);
  const changes = await inSpan(tracer, "store versions", () => storeVersions(ports, facts, prepared));
  const references = prepared.published.map(({ leaf, assignment }) => ({
    record_id: assignment.record_id,
    generation: assignment.generation,
    hash: leaf.hash,
    change: assignment.change,
  }));
  const regions = changes.length > 0 ? ports.regions() : [];
  const waitMs = facts.mode === "inline" ? inlineIndexWaitMs : undefined;
  const told = await Promise.all(
    regions.map((region) => {
      const work_id = indexWork(context, chunk);
      const command: TellRows =
        region === ports.region
          ? { type: "rows.apply", work_id, changes }
          : { type: "rows.index", work_id, collection: facts.collection, references };
      return tell(region, command, { context, waitMs });
    }),
  );
  const unindexed = regions.filter((_, index) => told[index] !== true);
  return { outcomes: prepared.outcomes, references, unindexed };
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
      generation: assignment.generation,
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

// A chunk that is given up: what of it is published stays published, and the rest is rejected.
//   G1. The business answers for the chunk once: if it had not been asked, it now gives no generation to any of the leaves,
//       so that no repetition publishes them later.
//   G2. A leaf whose version is stored counts as published: its head is written, and every region's index is notified.

const processingFailed = "processing_failed";

/** Throws while a store or the business cannot be reached. */
async function giveUpChunk(
  ports: Pick<PushPorts, "records" | "regions">,
  { facts, chunk }: { readonly facts: PushFacts; readonly chunk: number },
  ask: Ask,
): Promise<PublishedChunk> {
  const { push_id, number, collection, business_uuid } = facts;
  const place = { push_id, number, chunk, collection, seal: sealOf(facts) };
  const command = { type: "chunk.assign", ...place, leaves: [], refused: [] } as const;
  const assigned = await ask(businessRef(business_uuid), command);
  assertPublished(assigned);
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

// The prefetch of a push's chunks: while one is being settled, those behind it are judged, signed, stored and indexed.
// It is only a cache: a chunk that is not here, or failed here, is made when it is requested.
//   L1. Chunks are started in their order, and none before the one in front of it has its generations: of two leaves that are
//       the same product, the earlier one counts.
//   L2. At most `chunksMax` chunks behind the requested one are started, for at most `pushesMax` pushes.
//   L3. A failure of prefetched work is never reported: the chunk is made again in its turn, and a failure then is reported.

interface ChunkLimits {
  readonly chunksMax: number;
  readonly pushesMax: number;
}

/** How a chunk is made: `begin` until it has its generations, then `finish`. */
export interface ChunkStages<B, T> {
  begin(chunk: number): Promise<B>;
  finish(begun: B): Promise<T>;
}

export interface ChunkPlace {
  readonly chunk: number;
  /** Number of chunks of the push. */
  readonly chunks: number;
}

/**
 * Yields the chunks from this one to the last, in order, while those behind the current one are under way (L1, L2); ends
 * with the first failure.
 */
export async function* chunkPipeline<B, T>(
  { begin, finish }: ChunkStages<B, T>,
  { chunk: first, chunks }: ChunkPlace,
  chunksMax: number,
): AsyncGenerator<T, void> {
  const underWay: Promise<T>[] = [];
  let last: Promise<unknown> = Promise.resolve();
  let begunTo = first;
  for (let chunk = first; chunk < chunks; chunk += 1) {
    for (; begunTo < chunks && begunTo <= chunk + chunksMax; begunTo += 1) {
      const next = begunTo;
      const begun = last.then(() => begin(next));
      last = begun;
      // The next chunk starts before this one is finished: its leaves are read while this one's rows are signed.
      const made = begun.then((each) => each).then(finish);
      made.catch(() => {});
      underWay.push(made);
    }
    yield await (underWay.shift() as Promise<T>);
  }
}

interface ChunkPipelines<T> {
  /** Returns the chunk as it was prefetched, or else makes it now. Prefetches the chunks behind it. */
  take<B>(push: string, place: ChunkPlace, stages: ChunkStages<B, T>): Promise<T>;
}

interface OpenPipeline<T> {
  readonly chunks: AsyncGenerator<T, void>;
  /** The chunk that it yields next. */
  next: number;
}

/** The pipelines of the pushes that are processed here; a push requests one chunk at a time. */
export function createChunkPipelines<T>({ chunksMax, pushesMax }: ChunkLimits): ChunkPipelines<T> {
  const open = new BoundedMap<string, OpenPipeline<T>>(pushesMax);
  const advance = async (push: string, pipeline: OpenPipeline<T>, place: ChunkPlace): Promise<T> => {
    pipeline.next += 1;
    if (pipeline.next < place.chunks) open.set(push, pipeline);
    else open.delete(push);
    const step = await pipeline.chunks.next();
    if (step.done === true) throw new Error("The pipeline ended with an earlier failure.");
    return step.value;
  };
  return {
    take: async (push, place, stages) => {
      const begun = open.get(push);
      if (begun?.next === place.chunk) {
        const early = await advance(push, begun, place).then(
          (made) => ({ made }),
          () => null,
        );
        if (early !== null) return early.made;
      }
      const chunks = chunkPipeline(stages, place, chunksMax);
      return advance(push, { chunks, next: place.chunk }, place);
    },
  };
}

// Chunks that fail, and how often: a chunk that keeps failing for a reason of its own is given up, and its push goes on.
//   F1. An outage never counts: what may be possible later (a store, an index, a signer, another actor, the platform) is
//       tried for as long as it takes.
//   F2. A failure of the chunk itself, which every repetition would meet again, counts. So does a crash that its request
//       caused in the business's actor; of those few are allowed, because several of them would end that actor for others.
//   F3. Once a chunk of a push was given up, each further one is given up sooner: a push of which nothing can be published
//       ends soon.
//   F4. The counts are kept in memory: after a restart, or on another node, they begin again.

/** Failures of its own after which a chunk is given up. With the usual back-off they take about two minutes. */
export const chunkFailuresMax = 12;
/** The same for crashes of the business's actor; fewer than those after which it is quarantined. */
export const chunkCrashesMax = 3;
/** Failures after which a chunk is given up if one of its push was given up before (F3). */
export const laterFailuresMax = 2;
/** Number of failing chunks that are counted at a time; beyond that, the oldest count begins again. */
const countedMax = 10_000;

export interface ChunkFailures {
  /** Counts a failure; true if the chunk is to be given up. */
  isLast(chunk: ChunkName, error: unknown): boolean;
  /** The chunk was settled. */
  forget(chunk: ChunkName): void;
}

export interface ChunkName {
  /** Id of the push's actor. */
  readonly push: string;
  readonly chunk: number;
}

interface Count {
  failures: number;
  crashes: number;
}

/** Counts failures by chunk; of outages none counts. */
export function createChunkFailures(): ChunkFailures {
  const counts = new BoundedMap<string, Count>(countedMax);
  const givenUp = new BoundedMap<string, true>(countedMax);
  const nameOf = ({ push, chunk }: ChunkName): string => `${push}/${chunk}`;
  return {
    isLast: (chunk, error) => {
      const kind = failureKind(error);
      if (kind === "outage") return false;
      const count = counts.get(nameOf(chunk)) ?? { failures: 0, crashes: 0 };
      count[kind] += 1;
      counts.set(nameOf(chunk), count);
      const failuresMax = givenUp.get(chunk.push) ? laterFailuresMax : chunkFailuresMax;
      if (count.failures < failuresMax && count.crashes < chunkCrashesMax) return false;
      givenUp.set(chunk.push, true);
      return true;
    },
    forget: (chunk) => void counts.delete(nameOf(chunk)),
  };
}

function failureKind(error: unknown): "outage" | "failures" | "crashes" {
  if (error instanceof Unavailable) {
    // Only the one whose command crashed an actor learns the cause.
    if (error.reason === "restarting" && error.cause !== undefined) return "crashes";
    return error.reason === "refused" ? "failures" : "outage";
  }
  if (error instanceof StoreError || error instanceof WorkerEnded) return "outage";
  return isOfPlatform(error) ? "outage" : "failures";
}

/**
 * Errors of the system and of drivers have a code (`ENOSPC`, SQLite's `errcode`). The platform's own `ERR_…` name a wrong use of it.
 */
function isOfPlatform(error: unknown): boolean {
  const { code, errcode } = Object(error) as { readonly code?: unknown; readonly errcode?: unknown };
  return typeof errcode === "number" || (typeof code === "string" && !code.startsWith("ERR_"));
}
