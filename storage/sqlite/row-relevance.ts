// Relevance: Okapi BM25 over the searched fields taken as one, as Lucene's CombinedFieldQuery (`combined_fields` of
// Elasticsearch) computes it, all fields weighing the same; k1 = 1.2, b = 0.75:
//   score = sum over terms of idf * tf / (tf + k1 * (1 - b + b * length / mean length))
//   idf   = ln(1 + (N - n + 0.5) / (n + 0.5))
// tf and length are summed over the searched fields; N is the greatest number of rows with a text of one of them, n the
// greatest number of rows with the term in one of them. Only rows with every term count.

import { textMatchKey } from "../../collections/definition.ts";
import type { RowQuery } from "../row-index.ts";
import { numberOf, numberOrNull, type Row, textOf } from "./columns.ts";
import type { CollectionLayout } from "./row-layout.ts";
import { type CollectionTerms, lowerBound, type TermList } from "./row-terms.ts";

const k1 = 1.2;
const b = 0.75;

/** Rows that have every term, with their scores, in the order of their numbers. */
export interface Candidates {
  readonly rids: Int32Array;
  readonly scores: Float64Array;
  readonly length: number;
}

export interface Scoring {
  readonly layout: CollectionLayout;
  readonly terms: CollectionTerms;
  readonly text: NonNullable<RowQuery["text"]>;
  /** The only rows wanted; null for no such limit. */
  readonly among: ReadonlySet<number> | null;
}

/** Scores the rows that match a text. */
export function scoreRows({ layout, terms, text, among }: Scoring): Candidates {
  const fields = text.fields.map((name) => layout.textFields.indexOf(name));
  const lists = text.terms.map((term) => terms.list(term));
  const rows = Math.max(...fields.map((field) => terms.rowsWith(field)));
  const lengthMean = fields.reduce((sum, field) => sum + terms.lengthSum(field), 0) / rows;
  const weights = lists.map((list) => {
    const containing = Math.max(...fields.map((field) => list.rows[field] ?? 0));
    return Math.log(1 + (rows - containing + 0.5) / (containing + 0.5));
  });
  const shortest = lists.reduce((least, list) => (list.length < least.length ? list : least));
  const rids = new Int32Array(shortest.length);
  const scores = new Float64Array(shortest.length);
  const places = new Int32Array(lists.length);
  let length = 0;
  for (let posting = 0; posting < shortest.length; posting += 1) {
    const rid = shortest.rids[posting] ?? 0;
    if (among !== null && !among.has(rid)) continue;
    let rowLength = 0;
    for (const field of fields) rowLength += terms.lengthOf(rid, field);
    const norm = k1 * (1 - b + (b * rowLength) / lengthMean);
    let score = 0;
    for (let index = 0; index < lists.length; index += 1) {
      const frequency = frequencyIn(
        lists[index] as TermList,
        { rid, fields, places, index },
        layout.textFields.length,
      );
      if (frequency === 0) {
        score = -1;
        break;
      }
      score += ((weights[index] ?? 0) * frequency) / (frequency + norm);
    }
    if (score < 0) continue;
    rids[length] = rid;
    scores[length] = score;
    length += 1;
  }
  return { rids, scores, length };
}

interface Place {
  readonly rid: number;
  readonly fields: readonly number[];
  /** Where each list was left: rows are asked for in ascending order. */
  readonly places: Int32Array;
  readonly index: number;
}

/** Occurrences of a term in the searched fields of a row. */
function frequencyIn(list: TermList, { rid, fields, places, index }: Place, fieldCount: number): number {
  const from = places[index] ?? 0;
  let to = from;
  // Gallop: the wanted row is mostly near.
  for (let step = 1; to < list.length && (list.rids[to] ?? 0) < rid; step *= 2) to += step;
  const at = lowerBound(list.rids, from, Math.min(to + 1, list.length), rid);
  places[index] = at;
  if (at >= list.length || list.rids[at] !== rid) return 0;
  let frequency = 0;
  for (const field of fields) frequency += list.frequencies[at * fieldCount + field] ?? 0;
  return frequency;
}

/** A candidate that was found to be wanted. */
interface Wanted {
  readonly rid: number;
  readonly record_id: string;
  /** In the order of the sort keys; the score where relevance is the key. */
  readonly values: readonly (number | null)[];
}

/** Candidates checked first: mostly they hold enough that are wanted. */
const firstFactor = 4;
const secondCount = 4_096;

/**
 * Numbers of the wanted rows in the order of the query, at most its limit. `check` is asked for rows by their numbers and
 * gives, of those that are wanted, the columns of `checkSql`. The best candidates are checked first; what follows them
 * need not be, once it cannot come before what was found.
 */
export function rankRows(
  query: RowQuery,
  { candidates, terms }: { readonly candidates: Candidates; readonly terms: CollectionTerms },
  check: (rids: readonly number[]) => readonly Row[],
): readonly number[] {
  const [first] = query.sort;
  const isFirstKey = first?.field === textMatchKey;
  const counts = isFirstKey ? [query.limit * firstFactor, secondCount] : [];
  const direction = first?.direction ?? "desc";
  for (const count of [...counts, candidates.length]) {
    const best = bestOf({ candidates, terms, direction, count });
    const wanted = wantedOf(query, candidates, best, check).sort((a, b) => compareWanted(a, b, query));
    const found = wanted.slice(0, query.limit).map((each) => each.rid);
    if (best.length === candidates.length) return found;
    const [last, worst] = [wanted[query.limit - 1], best.at(-1)];
    if (last === undefined || worst === undefined) continue;
    const isSettled = last.values[0] !== candidates.scores[worst];
    const isSettledById =
      query.sort.length === 1 && terms.idKey(last.rid) < terms.idKey(candidates.rids[worst] ?? 0);
    if (isSettled || isSettledById) return found;
  }
  return [];
}

function wantedOf(
  query: RowQuery,
  candidates: Candidates,
  best: readonly number[],
  check: (rids: readonly number[]) => readonly Row[],
): Wanted[] {
  return check(best.map((place) => candidates.rids[place] ?? 0)).map((row) => {
    const place = best[numberOf(row["place"])] ?? 0;
    const values = query.sort.map(({ field }, index) =>
      field === textMatchKey ? (candidates.scores[place] ?? 0) : numberOrNull(row[`s${index}`]),
    );
    return { rid: candidates.rids[place] ?? 0, record_id: textOf(row["record_id"]), values };
  });
}

function compareWanted(a: Wanted, b: Wanted, query: RowQuery): number {
  for (const [index, { direction }] of query.sort.entries()) {
    const [left, right] = [a.values[index] ?? null, b.values[index] ?? null];
    if (left === right) continue;
    if (left === null) return 1;
    if (right === null) return -1;
    return direction === "asc" ? left - right : right - left;
  }
  return a.record_id < b.record_id ? -1 : 1;
}

/**
 * Places of the best candidates, best first: by score in the given direction, then by id key. With `count` at least the
 * number of candidates, all of them, in no order.
 */
function bestOf(wanted: {
  readonly candidates: Candidates;
  readonly terms: CollectionTerms;
  readonly direction: "asc" | "desc";
  readonly count: number;
}): readonly number[] {
  const { candidates, terms, count } = wanted;
  const sign = wanted.direction === "desc" ? 1 : -1;
  const { rids, scores, length } = candidates;
  if (count >= length) return Array.from({ length }, (_, index) => index);
  /** Negative when candidate `a` comes before `b`. */
  const compare = (a: number, b: number): number => {
    const difference = ((scores[b] ?? 0) - (scores[a] ?? 0)) * sign;
    return difference !== 0 ? difference : terms.idKey(rids[a] ?? 0) - terms.idKey(rids[b] ?? 0);
  };
  // A heap of the best so far, the worst of them on top.
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

/** Puts `added` in the place of the top. */
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
