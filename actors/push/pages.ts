// Pages of a push's outcomes: which chunks a page needs, and what it shows of them.
//   G1. A page reads a bounded number of chunks, however large the push is and wherever the page begins: the tallies in the
//       context tell which chunks have an outcome. It may be shorter than was asked for while more follow.
//   G2. What was found of a leaf before its chunk is settled is kept by chunk as well: of a push that was judged for its hold all
//       leaves, of any other those of the next chunks that are rejected.

import {
  type ChunkTally,
  chunkCount,
  chunkSize,
  chunksPerPage,
  type PushContext,
} from "../../machines/push.ts";
import type { RecordOutcome, SettledOutcome } from "../messages/push.ts";

/** An outcome as it is kept. */
export interface KeptOutcome extends SettledOutcome {
  readonly settled_at_ms?: number;
}

export interface Page {
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
export type Found = ReadonlyMap<number, KeptOutcome>;

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
export function rejectedAhead({ context, records, found }: Paged): number {
  let rejected = 0;
  for (let chunk = context.chunksSettled; chunk < chunkCount(records); chunk += 1) {
    const known = found.get(chunk);
    rejected += known === undefined ? (context.judgedRejected?.[chunk] ?? 0) : rejectedOf(known.values());
  }
  return rejected;
}

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

export function pageOf(paged: Paged, { outcome, limit, from_leaf }: Page): PageOfOutcomes {
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
