// The chunks of a push: when each was judged, numbered, signed, stored and settled, and when each region's index confirmed it.
//   CR1. The rows of the push say it (actors/push/ports.ts).
//   CR2. A chunk that is open has what its business remembers of it: its generations.
//   CR3. Rows are read for the chunks that are shown alone, however many a push has.

import { answerKey, answers } from "../../../actors/business/rows.ts";
import { businessRef, pushRef } from "../../../actors/messages/refs.ts";
import { type ChunkTimes, chunkTimes, lateIndexes } from "../../../actors/push/ports.ts";
import type { ActorDefinition, Message } from "../../../actors/system/definition.ts";
import { type ActivationBody, readActivations, walkJournal } from "../../../actors/system/journal.ts";
import { MachineDriver } from "../../../actors/system/machine-driver.ts";
import { chunkCount, chunkSize, type PushContext, type PushEvent } from "../../../machines/push.ts";
import { type PushRoad, roadChunksMax } from "../../../ops/push-road-shape.ts";
import type { ActorRef, ActorStore, PartitionRow } from "../../../storage/actor-store.ts";
import { nameOf } from "../look.ts";

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

export async function readChunks(store: ActorStore, question: ChunkQuestion): Promise<ChunkRoad> {
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
  store: ActorStore,
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
  store: ActorStore,
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

// What the journals of a push, of its business and of its key say of its steps. Each has the time and the node of its commit.
//   JS1. Each journal is read for itself, so the steps of two actors may be of different instants.
//   JS2. A journal keeps the events since its last snapshot; `isPruned` says that there were earlier ones.

export type Step = PushRoad["steps"][number];
/** What a step is, before it is known where it happened. */
export type Said = Pick<Step, "what" | "words"> & Partial<Pick<Step, "region">>;

export interface JournalDeps {
  readonly store: ActorStore;
  readonly definitions: readonly ActorDefinition[];
  readonly pause: () => Promise<void>;
}

export interface JournalPart {
  readonly actor: string;
  readonly steps: readonly Step[];
  /** The events that the caller wanted, with the times of their commits. */
  readonly events: readonly { readonly event: Message; readonly atMs: number }[];
  readonly activations: readonly ActivationBody[];
  readonly isPruned: boolean;
  /** The context after the newest event; undefined if it cannot be read. */
  readonly context: unknown;
}

/** Null for an actor that never existed. */
export async function readJournalPart(
  { store, definitions, pause }: JournalDeps,
  ref: ActorRef,
  { isWanted, say }: { isWanted(event: Message): boolean; say(event: Message): readonly Said[] },
): Promise<JournalPart | null> {
  const definition = definitions.find(({ kind }) => kind === ref.kind);
  if (definition === undefined) return null;
  const activations = await readActivations(store, ref);
  let steps: Step[] = [];
  let events: JournalPart["events"][number][] = [];
  const walk = await walkJournal(ref, {
    ...{ store, pause, driver: new MachineDriver(definition) },
    again: () => {
      [steps, events] = [[], []];
    },
    visit: ({ event, atMs, epoch }) => {
      if (!isWanted(event)) return true;
      events.push({ event, atMs });
      const owner = ownerOf(activations.find(({ p }) => p === epoch));
      for (const said of say(event)) steps.push(stepOf(nameOf(ref), said, { atMs, ...owner }));
      return true;
    },
  });
  if (walk === null) return null;
  const { prunedUpTo, end } = walk;
  const part = { actor: nameOf(ref), steps, events, activations };
  return { ...part, isPruned: prunedUpTo > 0, context: end?.context };
}

interface Owner {
  readonly region: string | null;
  readonly node: string | null;
}

export function stepOf(
  actor: string,
  { region, ...said }: Said,
  { atMs, ...owner }: Owner & { readonly atMs: number },
): Step {
  const at = new Date(atMs).toISOString();
  return { at, actor, node: owner.node, region: region ?? owner.region, ...said };
}

/** Who had the actor at an instant: the last one whose first commit was not later. */
export function ownerAt(activations: readonly ActivationBody[], atMs: number): Owner {
  return ownerOf(activations.find(({ t }) => t <= atMs));
}

function ownerOf(activation: ActivationBody | undefined): Owner {
  const [region = null, node = null] = activation?.o.split("/", 2) ?? [];
  return { region, node };
}

/** The steps of the whole push; those of its chunks are in chunk-road.ts. */
export function ofPush(written: Message): readonly Said[] {
  const event = written as PushEvent;
  switch (event.type) {
    case "push.accepted":
      return [acceptedStep, ...heldBy(event.held_reasons)];
    case "push.prepared": {
      const words = "The whole file was read, and it was decided whether it is held.";
      return [{ what: "prepared", words }, ...heldBy(event.held_reasons)];
    }
    case "push.failed":
      return [{ what: "failed", words: `The push failed: ${event.code}.` }];
    case "hold.confirmed":
      return [{ what: "confirmed", words: "An owner or admin confirmed the held push." }];
    case "hold.rejected":
      return [{ what: "rejected", words: "The held push is not published." }];
    default:
      return [];
  }
}

export const acceptedStep: Said = {
  what: "accepted",
  words: "The push was accepted: it survives any node from here on.",
};
export const chargedStep: Said = {
  what: "charged",
  words: "The records and bytes were charged to the key.",
};
export const numberedStep: Said = { what: "numbered", words: "The business gave the push its number." };

function heldBy(reasons: readonly { readonly code: string }[]): readonly Said[] {
  if (reasons.length === 0) return [];
  const codes = [...new Set(reasons.map(({ code }) => code))].join(", ");
  return [{ what: "held", words: `The push is held until it is decided about (${codes}).` }];
}

export function ofBusiness(event: Message & { readonly act?: unknown }): readonly Said[] {
  const { type } = event;
  const who = event.act === undefined ? "" : " by an operator";
  const said: Readonly<Record<string, Said>> = {
    "push.admitted": numberedStep,
    "push.held": { what: "held", words: "The business notes that the push is held." },
    "hold.settled": { what: "decided", words: "The business settled the hold." },
    "push.finished": { what: "finished", words: "The business is done with the push." },
    "push.cancelled": {
      what: "cancelled",
      words: `The push was cancelled${who} before anything of it was published.`,
    },
  };
  const found = said[type];
  return found === undefined ? [] : [found];
}

export function ofKey({ type }: Message): readonly Said[] {
  return type === "push.charged" ? [chargedStep] : [];
}
