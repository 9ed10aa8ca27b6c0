// The road of one push over the actors and regions that took part in it, as a timeline: received, charged, numbered, held, each chunk
// judged, signed, stored and indexed, its seal in the public log, and the traces of all that.
//   PR1. What a journal says has the time and the node of its commit. Where the journal has no event any more, the rows of the push
//        say when (actors/push/ports.ts), and the activations of the actor on which node.
//   PR2. A step that was made, and of which nobody knows the time any more, is named in `unknown`: it is not left out.
//   PR3. Everything is a read; nothing is claimed or woken.

import { publishedHeads, selectCovering, writtenHeads } from "../../../actors/log-sequencer/definition.ts";
import { businessRef, keyRef, logRef, pushRef } from "../../../actors/messages/refs.ts";
import { type AcceptedTimes, acceptedTimes } from "../../../actors/push/ports.ts";
import type { PushContext } from "../../../machines/push.ts";
import { type PushRoad, type RoadSpan, roadSpansMax } from "../../../ops/push-road-shape.ts";
import { parseNote } from "../../../protocol/log/note.ts";
import { readEntry } from "../../../service/log/log-reads.ts";
import { type ActorStore, StoreError } from "../../../storage/actor-store.ts";
import type { LogStore } from "../../../storage/log-store.ts";
import type { FoundSpans, SpanQuestion } from "../../telemetry/kept-spans.ts";
import { compareTexts } from "../look.ts";
import type { NodeAnswer } from "../node-asker.ts";
import {
  acceptedStep,
  chargedStep,
  type JournalDeps,
  type JournalPart,
  numberedStep,
  ofBusiness,
  ofKey,
  ofPush,
  ownerAt,
  readChunks,
  readJournalPart,
  type Said,
  type Step,
  stepOf,
} from "./chunk-road.ts";

export interface PushRoadDeps extends JournalDeps, LogLeafDeps {
  readonly store: ActorStore;
  /** The regions whose indexes have to confirm. */
  readonly regions: () => readonly string[];
  readonly askSpans: AskSpans;
  /** The address of a trace, with `{trace_id}` in place of its id; null for none. */
  readonly traceLink: string | null;
}

export interface RoadQuestion {
  readonly businessUuid: string;
  readonly pushId: string;
  /** The first chunk that is shown; null for the newest ones. */
  readonly fromChunk: number | null;
}

interface Parts {
  readonly facts: NonNullable<PushContext["facts"]>;
  readonly context: PushContext;
  readonly push: JournalPart;
  readonly business: JournalPart | null;
  readonly key: JournalPart | null;
  readonly accepted: AcceptedTimes;
}

/** Null for a push that was never accepted. */
export async function readPushRoad(deps: PushRoadDeps, question: RoadQuestion): Promise<PushRoad | null> {
  const parts = await readParts(deps, question);
  if (parts === null) return null;
  const { push, context, facts, accepted } = parts;
  const { businessUuid, pushId, fromChunk } = question;
  const regions = deps.regions();
  const [shown, log] = await Promise.all([
    readChunks(deps.store, { facts, context, push, regions, fromChunk }),
    readLogLeaf(deps, accepted.leaf),
  ]);
  const { chunks } = shown;
  const known = chunks.flatMap(({ trace_id }) => (trace_id === null ? [] : [trace_id]));
  const { id } = pushRef(businessUuid, pushId);
  const { traces, missing } = await readTraces(
    { ask: deps.askSpans, link: deps.traceLink },
    { push: id, traces: [...new Set(known)] },
  );
  const { steps, unknown } = stepsOfWhole(parts, log);
  const journals = [push, parts.business, parts.key].filter((part) => part !== null);
  return {
    ...{ business_uuid: businessUuid, push_id: pushId },
    steps: [...steps].sort((a, b) => compareTexts(a.at, b.at) || rankOf(a) - rankOf(b)),
    unknown,
    ...{ chunks, from_chunk: shown.fromChunk, chunks_total: shown.total },
    regions: regionsOf(context, chunks, regions),
    ...{ log, traces },
    ...(missing.length === 0 ? {} : { missing }),
    pruned: journals.filter(({ isPruned }) => isPruned).map(({ actor }) => actor),
  };
}

async function readParts(deps: PushRoadDeps, { businessUuid, pushId }: RoadQuestion): Promise<Parts | null> {
  const ref = pushRef(businessUuid, pushId);
  const push = await readJournalPart(deps, ref, { isWanted: () => true, say: ofPush });
  const context = push?.context as PushContext | undefined;
  if (push === null || context === undefined || context.facts === null) return null;
  const { facts } = context;
  const isWanted = (event: object): boolean => "push_id" in event && event.push_id === pushId;
  const [business, key, rows] = await Promise.all([
    readJournalPart(deps, businessRef(businessUuid), { isWanted, say: ofBusiness }),
    readJournalPart(deps, keyRef(businessUuid, facts.key_id), { isWanted, say: ofKey }),
    deps.store.readRows(ref, [acceptedTimes.selectPage(1)]),
  ]);
  const [row] = rows;
  if (row === undefined) return null;
  const accepted = acceptedTimes.decode(row.body, row);
  return { facts, context, push, business, key, accepted };
}

interface Whole {
  readonly steps: readonly Step[];
  readonly unknown: PushRoad["unknown"];
}

/** The steps of the push itself: what is missing in the journals comes from rows, or is unknown (PR1, PR2). */
function stepsOfWhole(parts: Parts, log: LogStanding): Whole {
  const { push, business, key, accepted, facts } = parts;
  const found = [push, key, business].flatMap((part) => part?.steps ?? []);
  const has = (what: string): boolean => found.some((step) => step.what === what);
  const received = receivedOf(parts);
  const steps: Step[] = [received, ...found];
  const unknown: PushRoad["unknown"][number][] = [];
  const fill = (said: Said, part: JournalPart | null, atMs: number | undefined): void => {
    if (has(said.what)) return;
    if (part !== null && atMs !== undefined)
      steps.push(stepOf(part.actor, said, { atMs, ...ownerAt(part.activations, atMs) }));
    else unknown.push({ what: said.what, words: `${said.words} ${gone}` });
  };
  // What a person seals alone is not charged to an integration key.
  if (facts.path === "A") fill(chargedStep, key, accepted.charged_ms);
  fill(numberedStep, business, accepted.numbered_ms);
  fill(acceptedStep, push, firstCommitOf(push));
  const ended = endOf(parts);
  if (ended !== null && !has(ended.what)) steps.push(ended);
  return { steps: [...steps, ...stepsOfLog(log)], unknown };
}

const gone = "When, is not known any more: the event is only in the snapshot.";

const firstSteps = ["received", "charged", "numbered", "accepted", "prepared", "held"];
const lastSteps = ["complete", "failed", "finished"];

/** The order of steps of the same instant. */
function rankOf({ what }: Step): number {
  const first = firstSteps.indexOf(what);
  return first === -1 ? firstSteps.length + 1 + lastSteps.indexOf(what) : first;
}

function receivedOf({ facts, business, push }: Parts): Step {
  const atMs = Date.parse(facts.received_at);
  const { records, collection, source, path } = facts;
  const how = `(${source}, path ${path})`;
  const words =
    records === 1
      ? `A record of ${collection} was received ${how}.`
      : `${records} records of ${collection} were received ${how}.`;
  const owner = ownerAt(business?.activations ?? [], atMs);
  return stepOf(push.actor, { what: "received", words }, { atMs, ...owner });
}

/** A push begins with its acceptance; undefined where its first activation is not remembered. */
function firstCommitOf({ activations }: JournalPart): number | undefined {
  return activations.find(({ p }) => p === 1)?.t;
}

function endOf({ context, push }: Parts): Step | null {
  const { completedAtMs: atMs, error } = context;
  if (atMs === null) return null;
  const said =
    error === null
      ? { what: "complete", words: "Every chunk is settled, and every index has confirmed." }
      : { what: "failed", words: `The push failed: ${error.code}.` };
  return stepOf(push.actor, said, { atMs, ...ownerAt(push.activations, atMs) });
}

function stepsOfLog(log: LogStanding): readonly Step[] {
  const { appended_at, published_at, leaf_index, appended_size, published_size } = log;
  const actor = "log-sequencer/svc-log";
  const step = (at: string | null, what: string, words: string): readonly Step[] =>
    at === null ? [] : [{ at, what, words, actor, region: null, node: null }];
  return [
    ...step(
      appended_at,
      "logged",
      `The seal is leaf ${leaf_index} of the log, in a tree of ${appended_size}.`,
    ),
    ...step(
      published_at,
      "log_published",
      `The checkpoint of ${published_size} leaves, which covers it, was cosigned as the policy asks and published.`,
    ),
  ];
}

/** How far each region's index is. A region that was declared dead meanwhile is shown as long as something waits for it. */
function regionsOf(
  { unindexed, chunksSettled }: PushContext,
  chunks: PushRoad["chunks"],
  regions: readonly string[],
): PushRoad["regions"] {
  const named = [...new Set([...regions, ...unindexed.map(([, region]) => region)])].sort();
  return named.map((region) => {
    const waiting = unindexed.filter(([, at]) => at === region).length;
    const times = chunks.flatMap(({ indexes }) => indexes.filter((each) => each.region === region));
    const last =
      times
        .flatMap(({ at }) => at ?? [])
        .sort(compareTexts)
        .at(-1) ?? null;
    return { region, confirmed: chunksSettled - waiting, waiting, last_at: last };
  });
}

// The traces of a push, from what the nodes of all regions still have of them in memory.
//   PT1. Which traces are a push's own is known from its rows, and from the nodes that had the push. A node that did other work for it,
//        such as that of another region's index, knows the trace alone, and so is asked again once it is known.

/** Null from a node that records no traces. */
export type AskSpans = (
  question: SpanQuestion,
) => Promise<readonly Omit<NodeAnswer<FoundSpans | null>, "isOlder">[]>;

interface PushTraces {
  readonly traces: PushRoad["traces"];
  readonly missing: NonNullable<PushRoad["missing"]>;
}

export async function readTraces(
  { ask, link }: { readonly ask: AskSpans; readonly link: string | null },
  known: SpanQuestion,
): Promise<PushTraces> {
  const first = await ask(known);
  const ids = [...new Set([...known.traces, ...first.flatMap(({ value }) => value?.traces ?? [])])].sort();
  const isNew = ids.length > new Set(known.traces).size;
  const answers = isNew ? await ask({ push: known.push, traces: ids }) : first;
  const all = answers.flatMap(({ incarnation: node, region, value }) =>
    (value?.spans ?? []).map((each): RoadSpan & { readonly startMs: number } => ({
      ...{ trace_id: each.traceId, span_id: each.spanId, parent_id: each.parentId, name: each.name },
      ...{ region, node, at: new Date(each.startMs).toISOString(), took_us: each.tookUs },
      ...{ failure: each.failure, startMs: each.startMs },
    })),
  );
  all.sort((a, b) => a.startMs - b.startMs || compareTexts(a.span_id, b.span_id));
  const spans = all.slice(0, roadSpansMax).map(({ startMs: _, ...each }): RoadSpan => each);
  const missing = answers.flatMap(({ incarnation, region, fault }) =>
    fault === null ? [] : [{ incarnation, region, detail: fault }],
  );
  const recording = answers.some(({ value }) => value !== null);
  return { traces: { recording, ids, spans, is_complete: spans.length === all.length, link }, missing };
}

// Where the seal of a push is in the transparency log, and since when.
//   LL1. A leaf is said to be in the published log only if the entry at its place is this leaf: a home that was lost may have noted
//        places in a tree that it never published.
//   LL2. When it was appended and published is said only of a head that is known to be the first that covers it.

type LogStanding = PushRoad["log"];

interface LogLeafDeps {
  readonly store: ActorStore;
  readonly log: LogStore;
}

const nothing: LogStanding = {
  ...{ state: "unknown", leaf: null, leaf_index: null, appended_at: null, appended_size: null },
  ...{ published_at: null, published_size: null, newest_size: null, cosigned_by: [] },
};

/** `leaf` is the one that the log was told with the acceptance. */
export async function readLogLeaf(deps: LogLeafDeps, leaf: string): Promise<LogStanding> {
  try {
    return await standingOf(deps, leaf);
  } catch (error) {
    if (error instanceof StoreError) return { ...nothing, leaf };
    throw error;
  }
}

async function standingOf(deps: LogLeafDeps, leaf: string): Promise<LogStanding> {
  const { log } = deps;
  const [[found = null], checkpoint] = await Promise.all([log.findLeaves([leaf]), log.readCheckpoint()]);
  const newest = checkpoint?.size ?? 0;
  const isPublished = found !== null && found < newest;
  const isThere = !isPublished || (await readEntry(log, found, newest))?.leaf === leaf;
  const index = isThere ? found : null;
  const signed = checkpoint === null ? null : parseNote(checkpoint.note);
  const cosigned_by = signed?.ok === true ? signed.value.signatures.map(({ name }) => name) : [];
  const common = { ...nothing, leaf, newest_size: checkpoint?.size ?? null, cosigned_by };
  if (index === null) return { ...common, state: "waiting" };
  const state = isPublished ? "published" : "sequenced";
  return { ...common, state, leaf_index: index, ...(await timesOf(deps, index)) };
}

/** LL2. */
async function timesOf({ store }: LogLeafDeps, index: number) {
  const tables = [writtenHeads, publishedHeads];
  const rows = await store.readRows(
    logRef(),
    tables.map((table) => selectCovering(table, index)),
  );
  const [written = null, published = null] = tables.map((table) => {
    const row = rows.find(({ rt }) => rt === table.rt);
    const head = row === undefined ? null : table.decode(row.body, row);
    return row === undefined || head === null || head.from > index
      ? null
      : { size: row.k, at: new Date(head.at_ms).toISOString() };
  });
  return {
    ...{ appended_at: written?.at ?? null, appended_size: written?.size ?? null },
    ...{ published_at: published?.at ?? null, published_size: published?.size ?? null },
  };
}
