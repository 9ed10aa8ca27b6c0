// Computes the relevance (collections/relevance.ts) of the rows that match a text, and the first of them in the requested
// order.

import { textMatchKey } from "../../collections/definition.ts";
import { termImpact, wordTerms } from "../../collections/relevance.ts";
import type { RowQuery } from "../row-index.ts";
import { type CheckRows, firstOf, type WantedRow } from "./row-check.ts";
import type { CollectionLayout } from "./row-layout.ts";
import { searchedFields } from "./row-match.ts";
import { type CollectionTerms, lowerBound, type TermList } from "./row-terms.ts";

/** Rows with their scores. */
export interface Candidates {
  readonly rids: Int32Array;
  readonly scores: Float64Array;
}

export interface Scoring {
  readonly layout: CollectionLayout;
  readonly terms: CollectionTerms;
  readonly text: NonNullable<RowQuery["text"]>;
  /** Rows that match the text, in ascending order. */
  readonly rids: Int32Array;
}

/** A term of a word, with where its list was left off: the rows come in ascending order. */
interface ScoredTerm {
  readonly list: TermList;
  readonly bonus: number;
  place: number;
}

/** Scores rows that match a text. */
export function scoreRows({ layout, terms, text, rids }: Scoring): Candidates {
  const fields = searchedFields(layout, text);
  const words = text.words.map((word): readonly ScoredTerm[] =>
    wordTerms(word)
      .map(({ term, bonus }) => ({ list: terms.list(term), bonus, place: 0 }))
      .filter(({ list }) => list.length > 0),
  );
  const scores = new Float64Array(rids.length);
  for (let index = 0; index < rids.length; index += 1) {
    const rid = rids[index] ?? 0;
    let score = 0;
    for (const word of words) {
      let best = 0;
      for (const each of word) {
        const { list, bonus } = each;
        each.place = seek(list, each.place, rid);
        if (list.rids[each.place] !== rid || each.place >= list.length) continue;
        let impacts = 0;
        for (const field of fields) {
          const frequency = list.frequencies[each.place * list.fields + field] ?? 0;
          if (frequency > 0) impacts += termImpact(frequency, terms.lengthOf(rid, field));
        }
        if (impacts > 0 && bonus + impacts > best) best = bonus + impacts;
      }
      score += best;
    }
    scores[index] = score;
  }
  return { rids, scores };
}

/** First posting from `from` on that is not before the row: usually nearby. */
function seek(list: TermList, from: number, rid: number): number {
  let to = from;
  for (let step = 1; to < list.length && (list.rids[to] ?? 0) < rid; step *= 2) to += step;
  return lowerBound(list.rids, from, Math.min(to + 1, list.length), rid);
}

/** Candidates checked first, as a multiple of the limit: they usually include enough wanted rows. */
const firstFactor = 4;
const secondCount = 4_096;

/**
 * Numbers of the wanted rows in the order of the query, at most its limit. The best candidates are checked first; the rest
 * need no check once they cannot precede what was found.
 */
export function rankRows(
  query: RowQuery,
  { candidates, terms }: { readonly candidates: Candidates; readonly terms: CollectionTerms },
  check: CheckRows,
): readonly number[] {
  const { rids, scores } = candidates;
  const [first] = query.sort;
  const isFirstKey = first?.field === textMatchKey;
  const counts = isFirstKey ? [query.limit * firstFactor, secondCount] : [];
  const direction = first?.direction ?? "desc";
  for (const count of [...counts, rids.length]) {
    const best = bestOf({ candidates, terms, direction, count });
    const checked = check(best.map((place) => rids[place] ?? 0));
    const wanted = checked.map((row): WantedRow => {
      const score = scores[best[row.place] ?? 0] ?? 0;
      return {
        ...row,
        values: query.sort.map(({ field }, key) =>
          field === textMatchKey ? score : (row.values[key] ?? null),
        ),
      };
    });
    const found = firstOf(wanted, query);
    if (best.length === rids.length) return found.map((each) => each.rid);
    const [last, worst] = [found[query.limit - 1], best.at(-1)];
    if (last === undefined || worst === undefined) continue;
    const isSettled = last.values[0] !== scores[worst];
    const isSettledById = query.sort.length === 1 && terms.idKey(last.rid) < terms.idKey(rids[worst] ?? 0);
    if (isSettled || isSettledById) return found.map((each) => each.rid);
  }
  return [];
}

/**
 * Places of the best candidates, best first: by score in the given direction, then by id key. If `count` is at least the
 * number of candidates, it returns all of them, in no particular order.
 */
function bestOf(wanted: {
  readonly candidates: Candidates;
  readonly terms: CollectionTerms;
  readonly direction: "asc" | "desc";
  readonly count: number;
}): readonly number[] {
  const { candidates, terms, count } = wanted;
  const sign = wanted.direction === "desc" ? 1 : -1;
  const { rids, scores } = candidates;
  const length = rids.length;
  if (count >= length) return Array.from({ length }, (_, index) => index);
  /** Negative when candidate `a` comes before `b`. */
  const compare = (a: number, b: number): number => {
    const difference = ((scores[b] ?? 0) - (scores[a] ?? 0)) * sign;
    return difference !== 0 ? difference : terms.idKey(rids[a] ?? 0) - terms.idKey(rids[b] ?? 0);
  };
  // A heap of the best candidates so far, the worst of them on top.
  const heap: number[] = [];
  for (let candidate = 0; candidate < length; candidate += 1) {
    if (heap.length < count) siftUp(heap, candidate, compare);
    else if (compare(candidate, heap[0] ?? 0) < 0) siftDown(heap, candidate, compare);
  }
  return heap.sort(compare);
}

function siftUp(heap: number[], added: number, compare: (a: number, b: number) => number): void {
  let at = heap.push(added) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const above = heap[parent] as number;
    if (compare(added, above) <= 0) break;
    heap[at] = above;
    at = parent;
  }
  heap[at] = added;
}

/** Replaces the top of the heap with `added`. */
function siftDown(heap: number[], added: number, compare: (a: number, b: number) => number): void {
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && compare(heap[child + 1] as number, heap[child] as number) > 0) child += 1;
    const below = heap[child] as number;
    if (compare(below, added) <= 0) break;
    heap[at] = below;
    at = child;
  }
  heap[at] = added;
}
