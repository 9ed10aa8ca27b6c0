// What a push reports about itself: PushStatus and its pages of outcomes (specification, «Push, outcome, status»).

import {
  type ChunkTally,
  chunkCount,
  chunkSize,
  chunksPerPage,
  type PushContext,
  type pushMachine,
} from "../../machines/push.ts";
import type { PartitionRow, RowSelection } from "../../storage/actor-store.ts";
import type { HeldReason } from "../messages/business.ts";
import type { CommandOf } from "../messages/protocol.ts";
import type {
  PublishOutcome,
  PushCounts,
  PushFacts,
  PushProtocol,
  PushReport,
  PushState,
  RecordFault,
  RecordOutcome,
  ResultDetails,
  RowReference,
  SettledOutcome,
} from "../messages/push.ts";
import type { ViewOf } from "../system/definition.ts";
import { defineJsonTable, defineTable, type RowCodec } from "../system/row-table.ts";

export type PushView = ViewOf<typeof pushMachine>;

/** The stored form of an outcome, without the members that are usually empty. */
type Packed = readonly [
  leafIndex: number,
  outcome: RecordOutcome,
  recordId: string | null,
  version: number | null,
  errors?: readonly RecordFault[],
  names?: string | null,
  /** When the chunk was settled, with its first leaf only. */
  settledAtMs?: number,
];

/** The outcomes of a settled chunk, in leaf order; the key is the chunk's number. */
const outcomesCodec: RowCodec<readonly KeptOutcome[]> = {
  name: "outcomes",
  rt: 16,
  encode: (chunk) => JSON.stringify(chunk.map(pack)),
  decode: (text) => {
    const packed = JSON.parse(text) as Packed[];
    const settledAtMs = packed[0]?.[6];
    return packed.map((each) => unpack(each, settledAtMs));
  },
};
export const outcomes = defineTable(outcomesCodec);
/** What is known of the leaves of a chunk that is not settled yet (G2); the key is the chunk's number. */
export const findings: typeof outcomes = defineTable({ ...outcomesCodec, name: "findings", rt: 18 });
/** The rows of a settled chunk about which an index must be notified again. */
export const references = defineJsonTable<readonly RowReference[]>("row references", 17);

/** The listings that a held push would change, with its reasons: apart from the journal, because a purge removes some of them. */
export const heldReasons = defineJsonTable<readonly HeldReason[]>("reasons of the hold", 19);

/** The reasons as the journal keeps them: without a text of any record. */
export function journaled(reasons: readonly HeldReason[]): readonly HeldReason[] {
  return reasons.map(({ largest: _, ...reason }) => reason);
}

/** The row of the reasons; none for reasons that name no listing. */
export function heldReasonRows(reasons: readonly HeldReason[]): readonly PartitionRow[] {
  return reasons.some(({ largest }) => largest !== undefined) ? [heldReasons.write("h", reasons)] : [];
}

/** What the answer about a push reads, if it is or may be held. */
export function selectHeldReasons({ facts, heldReasons: known }: PushContext): readonly RowSelection[] {
  // A push that is being accepted or prepared may be held by the time of the answer.
  const isOpen = facts === null || facts.file !== undefined;
  return known.length > 0 || isOpen ? [heldReasons.selectPage(1)] : [];
}

/** The data from which a report is made. */
interface Reported {
  readonly context: PushContext;
  readonly facts: PushFacts;
  readonly state: PushState;
  readonly stalled: boolean;
  /** The outcomes of the settled chunks that were read. */
  readonly chunks: ReadonlyMap<number, readonly KeptOutcome[]>;
  /** What is known of the open chunks. */
  readonly found: ReadonlyMap<number, Found>;
}

/** Returns null if no such push was accepted. */
export function reportPush(view: PushView, page: Page): PushReport | null {
  const { context } = view.snapshot;
  if (!context.facts) return null;
  const chunks = new Map(outcomes.readAll(view).map(({ k, value }) => [k, value]));
  // While the push is being judged, what was found may be found again otherwise.
  const open = view.snapshot.matches({ working: { step: "judging" } })
    ? []
    : findings.readAll(view).filter(({ k }) => k >= context.chunksSettled);
  const found = new Map(
    open.map(({ k, value }) => [k, new Map(value.map((each) => [each.leaf_index, each]))]),
  );
  // The context has the reasons without what they name.
  const [kept] = heldReasons.readAll(view);
  const reported = kept === undefined ? context : { ...context, heldReasons: kept.value };
  const stalled = view.snapshot.hasTag("stalled");
  return reportOf(
    { context: reported, facts: context.facts, state: reportedState(view), stalled, chunks, found },
    page,
  );
}

/** The report of a push that has just been accepted and is not held: nothing of it is settled. */
export function reportAccepted(
  view: PushView,
  { facts }: CommandOf<PushProtocol, "push.accept">,
  page: Page,
): PushReport {
  const context = { ...view.snapshot.context, facts, updatedAtMs: view.nowMs };
  const nothing = { stalled: false, chunks: new Map(), found: new Map() };
  return reportOf({ context, facts, state: "queued", ...nothing }, page);
}

function reportOf(reported: Reported, page: Page): PushReport {
  const { context, facts, state, stalled } = reported;
  const settled = Math.min(context.chunksSettled * chunkSize, facts.records);
  const paged = { ...reported, records: facts.records };
  const { results, nextLeaf } = pageOf(paged, page);
  return {
    facts,
    state,
    held_reasons: context.heldReasons,
    hold_expires_at:
      state === "held" && context.holdEndsAtMs !== undefined ? timestamp(context.holdEndsAtMs) : null,
    hold_decision: context.holdDecision ?? null,
    counts: countsOf(reported, facts.records - settled, rejectedAhead(paged)),
    settled,
    stalled,
    updated_at: timestamp(context.updatedAtMs),
    completed_at: context.completedAtMs === null ? null : timestamp(context.completedAtMs),
    error: context.error,
    results: results.map(shown),
    ...(page.details === true ? { details: results.map(detailsOf) } : {}),
    next_leaf: nextLeaf,
  };
}

/** The state as the wire has it (specification, «Push, outcome, status»). */
export function reportedState(view: PushView): PushState {
  const { value } = view.snapshot;
  // `settled` is a transient state, left as soon as it is entered.
  if (typeof value === "string") return value === "settled" ? "processing" : value;
  return "indexing" in value || value.working.step === "processing" ? "processing" : "queued";
}

function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}

function countsOf({ context, state }: Reported, open: number, early: number): PushCounts {
  const { rejected } = context.tally;
  return {
    ...context.tally,
    rejected: rejected + (state === "failed" ? open : early),
    held: state === "held" ? open - early : 0,
    pending: state === "held" || state === "failed" ? 0 : open - early,
  };
}

function pack(kept: KeptOutcome, place: number): Packed {
  const { leaf_index, outcome, record_id, version, errors, names, settled_at_ms } = kept;
  const packed = [leaf_index, outcome, record_id, version] as const;
  if (place === 0 && settled_at_ms !== undefined) return [...packed, errors, names ?? null, settled_at_ms];
  if (names !== undefined) return [...packed, errors, names];
  return errors.length > 0 ? [...packed, errors] : packed;
}

function unpack(packed: Packed, settledAtMs: number | undefined): KeptOutcome {
  const [leaf_index, outcome, record_id, version, errors, names] = packed;
  return {
    leaf_index,
    outcome,
    record_id,
    version,
    errors: errors ?? [],
    ...(typeof names === "string" ? { names } : {}),
    ...(settledAtMs === undefined ? {} : { settled_at_ms: settledAtMs }),
  };
}

/** The outcome as the wire shows it. */
function shown({ leaf_index, outcome, record_id, version, errors }: KeptOutcome): PublishOutcome {
  return { leaf_index, outcome, record_id, version, errors };
}

function detailsOf({ names, settled_at_ms }: KeptOutcome): ResultDetails {
  return { names: names ?? null, settled_at_ms: settled_at_ms ?? null };
}

// Pages of a push's outcomes: which chunks a page needs, and what it shows of them.
//   G1. A page reads a bounded number of chunks, however large the push is and wherever the page begins: the tallies in the
//       context tell which chunks have an outcome. It may be shorter than was asked for while more follow.
//   G2. What was found of a leaf before its chunk is settled is kept by chunk as well: of a push that was judged for its hold all
//       leaves, of any other those of the next chunks that are rejected.

/** An outcome as it is kept. */
export interface KeptOutcome extends SettledOutcome {
  readonly settled_at_ms?: number;
}

interface Page {
  readonly outcome: RecordOutcome | null;
  readonly from_leaf: number;
  readonly limit: number;
  readonly details?: boolean;
}

/** Neighbouring chunks. */
export interface ChunkRange {
  readonly first: number;
  readonly chunks: number;
}

/** A page without a filter is contained in two chunks. */
const chunksUnfiltered = 2;

const tallied = ["accepted", "updated", "rejected"] as const;

/** Where the tallies are not kept one by one, any chunk may have any outcome. */
const anything: ChunkTally = [1, 1, 1];

type Known = Pick<
  PushContext,
  "facts" | "error" | "chunksSettled" | "chunkTallies" | "holdDecision" | "judgedRejected" | "completedAtMs"
>;

/** The chunks whose rows a page needs. */
export function chunksOfPage(context: Known, { outcome, from_leaf, limit }: Page): readonly ChunkRange[] {
  const from = Math.floor(from_leaf / chunkSize);
  if (outcome === null) return [{ first: from, chunks: Math.max(chunksUnfiltered, chunkCount(limit) + 1) }];
  const ranges: ChunkRange[] = [];
  let [chunks, found] = [0, 0];
  for (let chunk = from; hasRow(context, chunk); chunk += 1) {
    const has = tallyOf(context, chunk, outcome);
    if (has === 0) continue;
    if (chunks === chunksPerPage || found >= limit) break;
    const last = ranges.at(-1);
    if (last !== undefined && last.first + last.chunks === chunk)
      ranges[ranges.length - 1] = { first: last.first, chunks: last.chunks + 1 };
    else ranges.push({ first: chunk, chunks: 1 });
    chunks += 1;
    // Of the first chunk, what is in front of the page does not count.
    if (chunk * chunkSize >= from_leaf) found += has;
  }
  return ranges;
}

/** Whether all leaves of the chunk are in a row: it is settled, or was judged. */
function hasRow({ facts, chunksSettled, judgedRejected }: Known, chunk: number): boolean {
  return (
    chunk < chunksSettled || (judgedRejected !== undefined && chunk < chunkCount(facts?.records ?? chunkSize))
  );
}

/** How many leaves of the chunk have the outcome, as far as the context says. */
function tallyOf(context: Known, chunk: number, outcome: RecordOutcome): number {
  const place = (tallied as readonly RecordOutcome[]).indexOf(outcome);
  if (chunk < context.chunksSettled)
    return place < 0 ? 0 : ((context.chunkTallies?.[chunk] ?? anything)[place] ?? 0);
  const rejected = context.judgedRejected?.[chunk] ?? 0;
  const others = leavesOf(context, chunk) - rejected;
  return (outcome === "rejected" ? rejected : 0) + (outcome === openOutcome(context) ? others : 0);
}

function leavesOf({ facts }: Known, chunk: number): number {
  return Math.min(chunkSize, (facts?.records ?? 0) - chunk * chunkSize);
}

/** What becomes of a leaf that is not settled and was not rejected: it waits, or is never published because the push failed. */
function openOutcome({ error, judgedRejected, holdDecision }: Known): "rejected" | "held" | "pending" {
  if (error !== null) return "rejected";
  return judgedRejected !== undefined && holdDecision === undefined ? "held" : "pending";
}

/** What is known of the leaves of an open chunk, by leaf index (G2). */
type Found = ReadonlyMap<number, KeptOutcome>;

/** What a page is made from. */
export interface Paged {
  readonly context: Known;
  readonly records: number;
  /** The outcomes of the settled chunks that were read. */
  readonly chunks: ReadonlyMap<number, readonly KeptOutcome[]>;
  /** By open chunk. */
  readonly found: ReadonlyMap<number, Found>;
}

/** How many leaves of the open chunks are rejected already. */
function rejectedAhead({ context, records, found }: Paged): number {
  let rejected = 0;
  for (let chunk = context.chunksSettled; chunk < chunkCount(records); chunk += 1) {
    const known = found.get(chunk);
    rejected += known === undefined ? (context.judgedRejected?.[chunk] ?? 0) : rejectedOf(known.values());
  }
  return rejected;
}

/** The number of rejected outcomes. */
export function rejectedOf(outcomes: Iterable<KeptOutcome>): number {
  let rejected = 0;
  for (const { outcome } of outcomes) if (outcome === "rejected") rejected += 1;
  return rejected;
}

export interface PageOfOutcomes {
  readonly results: readonly KeptOutcome[];
  /** The leaf at which the next page starts; null on the last page. */
  readonly nextLeaf: number | null;
}

function pageOf(paged: Paged, { outcome, limit, from_leaf }: Page): PageOfOutcomes {
  const { context, records } = paged;
  const results: KeptOutcome[] = [];
  let leaf = from_leaf;
  while (leaf < records && results.length < limit) {
    const chunk = Math.floor(leaf / chunkSize);
    const end = Math.min((chunk + 1) * chunkSize, records);
    if (outcome !== null && !paged.found.has(chunk) && tallyOf(context, chunk, outcome) === 0) {
      leaf = end;
      continue;
    }
    if (hasRow(context, chunk) && !paged.chunks.has(chunk) && !paged.found.has(chunk))
      return { results, nextLeaf: leaf };
    for (; leaf < end && results.length < limit; leaf += 1) {
      const entry = entryOf(paged, chunk, leaf);
      if (outcome === null || outcome === entry.outcome) results.push(entry);
    }
  }
  return { results, nextLeaf: leaf < records ? leaf : null };
}

function entryOf({ context, chunks, found }: Paged, chunk: number, leafIndex: number): KeptOutcome {
  const settled = chunks.get(chunk)?.[leafIndex % chunkSize];
  if (settled !== undefined) return settled;
  const known = found.get(chunk)?.get(leafIndex);
  if (known?.outcome === "rejected") return known;
  const { error, completedAtMs } = context;
  return {
    leaf_index: leafIndex,
    outcome: openOutcome(context),
    record_id: known?.record_id ?? null,
    version: null,
    errors: error === null ? [] : [{ code: error.code, pointer: "", detail: error.detail }],
    ...(error !== null && completedAtMs !== null ? { settled_at_ms: completedAtMs } : {}),
  };
}
