// The chunks of a push: when each was judged, numbered, signed, stored and settled, and when each region's index confirmed it.
//   CR1. The rows of the push say it (actors/push/times.ts).
//   CR2. A chunk that is open has what its business remembers of it: its generations.
//   CR3. Rows are read for the chunks that are shown alone, however many a push has.

import { answerKey, answers } from "../../../actors/business/rows.ts";
import { businessRef, pushRef } from "../../../actors/messages/refs.ts";
import { type ChunkTimes, chunkTimes, lateIndexes } from "../../../actors/push/times.ts";
import { chunkCount, chunkSize, type PushContext } from "../../../machines/push.ts";
import { type PushRoad, roadChunksMax } from "../../../ops/push-road-shape.ts";
import type { ActorStore, PartitionRow } from "../../../storage/actor-store.ts";
import { type JournalPart, ownerAt } from "./journal-steps.ts";

export type RoadChunk = PushRoad["chunks"][number];

export interface ChunkQuestion {
  readonly facts: NonNullable<PushContext["facts"]>;
  readonly context: PushContext;
  readonly push: JournalPart;
  /** The regions whose indexes have to confirm now. */
  readonly regions: readonly string[];
  /** The first chunk that is shown; null for the newest ones. */
  readonly fromChunk: number | null;
}

export interface ChunkRoad {
  readonly chunks: readonly RoadChunk[];
  readonly fromChunk: number;
  readonly total: number;
}

/** What is known of the settlement of a chunk, by its number. */
interface Known {
  readonly times: ReadonlyMap<number, ChunkTimes>;
  readonly late: ReadonlyMap<string, number>;
  readonly numbered: ReadonlyMap<number, number>;
}

/** Chunks that are prefetched behind the one that is settled next. */
const ahead = 6;

export async function readChunks(
  store: Pick<ActorStore, "readRows">,
  question: ChunkQuestion,
): Promise<ChunkRoad> {
  const { facts, context, fromChunk } = question;
  const total = chunkCount(facts.records);
  const newest = Math.min(total, context.chunksSettled + 1 + ahead);
  const wanted = fromChunk ?? newest - roadChunksMax;
  const first = Math.max(0, Math.min(wanted, total - 1));
  const count = Math.min(roadChunksMax, total - first);
  const known = await readKnown(store, question, { first, count });
  const chunks = Array.from({ length: count }, (_, at) => chunkOf(question, known, first + at));
  return { chunks, fromChunk: first, total };
}

async function readKnown(
  store: Pick<ActorStore, "readRows">,
  { facts, context, regions }: ChunkQuestion,
  { first, count }: { readonly first: number; readonly count: number },
): Promise<Known> {
  const after = { k: first, k2: "" };
  const isShown = ({ k }: PartitionRow): boolean => k >= first && k < first + count;
  const rows = await store.readRows(pushRef(facts.business_uuid, facts.push_id), [
    chunkTimes.selectPage(count, after),
    lateIndexes.selectPage(count * (regions.length + 1), after),
  ]);
  const of = (rt: number) => rows.filter((row) => row.rt === rt && isShown(row));
  const times = of(chunkTimes.rt).map((row) => [row.k, chunkTimes.decode(row.body, row)] as const);
  const late = of(lateIndexes.rt).map(
    (row) => [`${row.k} ${row.k2}`, lateIndexes.decode(row.body, row)] as const,
  );
  return {
    times: new Map(times),
    late: new Map(late),
    numbered: await readNumbered(store, { facts, context }, first + count),
  };
}

/** CR2. */
async function readNumbered(
  store: Pick<ActorStore, "readRows">,
  { facts, context }: Pick<ChunkQuestion, "facts" | "context">,
  end: number,
): Promise<ReadonlyMap<number, number>> {
  const open = Array.from({ length: ahead + 1 }, (_, at) => context.chunksSettled + at);
  const keys = open.filter((chunk) => chunk < end).map((chunk) => answerKey(facts.push_id, chunk));
  if (keys.length === 0 || context.completedAtMs !== null) return new Map();
  const rows = await store.readRows(businessRef(facts.business_uuid), [answers.select(keys)]);
  return new Map(
    rows
      .filter(({ rt }) => rt === answers.rt)
      .map((row) => [
        Number(row.k2.slice(facts.push_id.length + 1)),
        answers.decode(row.body, row).assigned_at_ms,
      ]),
  );
}

function chunkOf(question: ChunkQuestion, known: Known, chunk: number): RoadChunk {
  const { facts, context, push } = question;
  const first_leaf = chunk * chunkSize;
  const records = Math.min(chunkSize, facts.records - first_leaf);
  const place = { chunk, first_leaf, records };
  const times = known.times.get(chunk);
  if (times === undefined || chunk >= context.chunksSettled) return openChunk(question, known, place);
  const { work, settled_ms: settledAtMs } = times;
  return {
    ...place,
    state: work === undefined ? "given_up" : "settled",
    ...ownerAt(push.activations, settledAtMs),
    begun_at: timeOf(work?.begun_ms),
    judged_at: timeOf(work?.judged_ms),
    numbered_at: timeOf(work?.numbered_ms),
    signed_at: timeOf(work?.signed_ms),
    stored_at: timeOf(work?.stored_ms),
    published: work === undefined ? null : work.stored_ms !== null,
    settled_at: timeOf(settledAtMs),
    indexes: indexesOf(question, known, { chunk, work }),
    trace_id: work?.trace_id ?? null,
  };
}

const nowhere = { region: null, node: null };
const unknownTimes = {
  ...{ begun_at: null, judged_at: null, signed_at: null, stored_at: null, settled_at: null },
  ...{ published: null, indexes: [], trace_id: null, ...nowhere },
};

function openChunk(
  { context }: ChunkQuestion,
  { numbered }: Known,
  place: Pick<RoadChunk, "chunk" | "first_leaf" | "records">,
): RoadChunk {
  const numberedAtMs = numbered.get(place.chunk);
  const state =
    context.completedAtMs !== null ? "not_processed" : numberedAtMs === undefined ? "open" : "numbered";
  return { ...place, ...unknownTimes, state, numbered_at: timeOf(numberedAtMs) };
}

/** By region. Of a chunk that was given up, the regions of today are named. */
function indexesOf(
  { context, regions }: ChunkQuestion,
  { late }: Known,
  { chunk, work }: { readonly chunk: number; readonly work: ChunkTimes["work"] },
): RoadChunk["indexes"] {
  if (work?.stored_ms === null) return [];
  const waiting = context.unindexed.filter(([of]) => of === chunk).map(([, region]) => region);
  const lately = [...late.keys()]
    .filter((key) => key.startsWith(`${chunk} `))
    .map((key) => key.split(" ")[1] ?? "");
  const named = work === undefined ? [...regions, ...lately] : [...Object.keys(work.indexed), ...lately];
  return [...new Set([...named, ...waiting])].sort().map((region) => {
    if (waiting.includes(region)) return { region, state: "waiting", at: null };
    return {
      region,
      state: "confirmed",
      at: timeOf(work?.indexed[region] ?? late.get(`${chunk} ${region}`)),
    };
  });
}

function timeOf(ms: number | null | undefined): string | null {
  return ms === null || ms === undefined ? null : new Date(ms).toISOString();
}
