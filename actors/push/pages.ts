// Pages of a push's outcomes: which chunks a page needs, and what it shows of them.
//   G1. A page reads a bounded number of chunks, however large the push is and wherever the page begins: the tallies in the
//       context tell which chunks have an outcome. It may be shorter than was asked for while more follow.

import {
  type ChunkTally,
  chunkCount,
  chunkSize,
  chunksPerPage,
  type PushContext,
} from "../../machines/push.ts";
import type { PushState, RecordOutcome, SettledOutcome } from "../messages/push.ts";

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

/** The chunks whose outcomes a page needs. */
export function chunksOfPage(
  context: Pick<PushContext, "chunksSettled" | "chunkTallies">,
  { outcome, from_leaf, limit }: Page,
): readonly ChunkRange[] {
  const from = Math.floor(from_leaf / chunkSize);
  if (outcome === null) return [{ first: from, chunks: Math.max(chunksUnfiltered, chunkCount(limit) + 1) }];
  const ranges: ChunkRange[] = [];
  let [chunks, found] = [0, 0];
  for (let chunk = from; chunk < context.chunksSettled; chunk += 1) {
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

/** How many leaves of a settled chunk have the outcome, as far as is known. */
function tallyOf(
  { chunkTallies }: Pick<PushContext, "chunkTallies">,
  chunk: number,
  outcome: RecordOutcome,
): number {
  const place = (tallied as readonly RecordOutcome[]).indexOf(outcome);
  return place < 0 ? 0 : ((chunkTallies?.[chunk] ?? anything)[place] ?? 0);
}

/** What a page is made from. */
export interface Paged {
  readonly context: Pick<PushContext, "error" | "completedAtMs" | "chunksSettled" | "chunkTallies">;
  readonly records: number;
  readonly state: PushState;
  /** The outcomes of the settled chunks that were read. */
  readonly chunks: ReadonlyMap<number, readonly KeptOutcome[]>;
  /** What is rejected of the open chunks, by leaf index: of a bounded number of them, right behind the settled ones. */
  readonly rejected: ReadonlyMap<number, KeptOutcome>;
}

export interface PageOfOutcomes {
  readonly results: readonly KeptOutcome[];
  /** The leaf at which the next page starts; null on the last page. */
  readonly nextLeaf: number | null;
}

export function pageOf(paged: Paged, page: Page): PageOfOutcomes {
  const { context, records } = paged;
  const { outcome, limit } = page;
  const results: KeptOutcome[] = [];
  const settled = Math.min(context.chunksSettled * chunkSize, records);
  let leaf = page.from_leaf;
  while (leaf < settled && results.length < limit) {
    const chunk = Math.floor(leaf / chunkSize);
    const end = Math.min((chunk + 1) * chunkSize, settled);
    if (outcome !== null && tallyOf(context, chunk, outcome) === 0) {
      leaf = end;
      continue;
    }
    const known = paged.chunks.get(chunk);
    if (known === undefined) return { results, nextLeaf: leaf };
    for (; leaf < end && results.length < limit; leaf += 1) {
      const entry = known[leaf % chunkSize];
      if (entry && (outcome === null || outcome === entry.outcome)) results.push(entry);
    }
  }
  const end = Math.max(settled, ...paged.rejected.keys()) + 1;
  for (; leaf < Math.min(end, records) && results.length < limit; leaf += 1) {
    const entry = paged.rejected.get(leaf) ?? openOutcome(leaf, paged);
    if (outcome === null || outcome === entry.outcome) results.push(entry);
  }
  // All further leaves have one outcome.
  const open = leaf < records && results.length < limit ? openOutcome(leaf, paged) : null;
  if (open !== null && outcome !== null && outcome !== open.outcome) return { results, nextLeaf: null };
  for (; leaf < records && results.length < limit; leaf += 1) results.push(openOutcome(leaf, paged));
  return { results, nextLeaf: leaf < records ? leaf : null };
}

/** The outcome of a leaf that is not settled: it waits, or will never be published because the push failed. */
function openOutcome(leafIndex: number, { state, context: { error, completedAtMs } }: Paged): KeptOutcome {
  const failed = state === "failed" && error !== null;
  return {
    leaf_index: leafIndex,
    outcome: failed ? "rejected" : state === "held" ? "held" : "pending",
    record_id: null,
    version: null,
    errors: failed ? [{ code: error.code, pointer: "", detail: error.detail }] : [],
    ...(failed && completedAtMs !== null ? { settled_at_ms: completedAtMs } : {}),
  };
}
