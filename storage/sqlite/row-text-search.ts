// Searches with a text. The rows that match it are known from memory; what remains is to find the first of
// them in the requested order:
//   - by relevance, the best are checked until no other can precede them;
//   - by a number, a small set of matches is checked in full; of a large one, those that come first in a walk over the
//     number's index.
// If no row matches the text as it is written, it is searched for again with the misspellings that count
// (collections/text-analysis.ts).

import type { StatementSync } from "node:sqlite";
import { textMatchKey } from "../../collections/definition.ts";
import {
  isSpelling,
  spellingsOfText,
  termImpact,
  withSpellings,
  wordTerms,
} from "../../collections/text-analysis.ts";
import type { QueryText, RowQuery } from "../row-index.ts";
import { numberOf, numberOrNull, numbersIn, textOf } from "./columns.ts";
import type { CollectionLayout } from "./row-layout.ts";
import { checkSql, fieldOf, isByRelevance, type Sql, walkSql } from "./row-select.ts";
import {
  type Bits,
  type CollectionTerms,
  countBits,
  hasBit,
  intersect,
  lowerBound,
  numbersOf,
  type TermList,
  unite,
  withBit,
} from "./row-terms.ts";

/** Up to this many matches are all checked without further planning. */
const checkedMax = 300;
/** Factor by which reading a row of an index is cheaper than checking one. */
const walkFactor = 10;
/** Minimum and maximum rows read in one step of a walk. */
const stepMin = 128;
const stepMax = 131_072;

export interface TextSearch {
  readonly layout: CollectionLayout;
  readonly terms: CollectionTerms;
  readonly prepare: (sql: string) => StatementSync;
  /** The only rows to consider; null for no such restriction. */
  readonly among: ReadonlySet<number> | null;
}

/** Numbers of the rows that a query with a text wants, in its order, at most its limit. */
export function searchText(search: TextSearch, query: RowQuery): readonly number[] {
  const found = searchAsWritten(search, query);
  if (found.length > 0) return found;
  const text = misspeltText(search, query);
  return text === null ? [] : searchAsWritten(search, { ...query, text });
}

function searchAsWritten(search: TextSearch, query: RowQuery): readonly number[] {
  const { layout, terms, prepare, among } = search;
  if (query.text === undefined) throw new Error("A text is searched for");
  const matched = matchRows(layout, terms, query);
  const rids = among === null ? matched : matched.filter((rid) => among.has(rid));
  if (rids.length === 0) return [];
  const sql = checkSql(layout, query);
  const check = checkWith(prepare(sql.text), sql, query);
  if (isByRelevance(query)) {
    const candidates = scoreRows({ layout, terms, text: query.text, rids });
    return rankRows(query, { candidates, terms }, check);
  }
  const walked = rids.length > checkedMax ? walk(search, query, { rids, check }) : null;
  return (walked ?? firstOf(check([...rids]), query)).map((row) => row.rid);
}

/** The text with misspellings, for a query that finds nothing (X8); null if they do not count or do not occur. */
function misspeltText({ layout, terms, prepare }: TextSearch, query: RowQuery): QueryText | null {
  const { text } = query;
  if (text === undefined) return null;
  const spellings = spellingsOfText(text);
  if (spellings.every((each) => each.length === 0)) return null;
  if (query.clauses.length > 0 && isMatched({ layout, terms, prepare }, { ...query, clauses: [], sort: [] }))
    return null;
  const fields = searchedFields(layout, text);
  const published = terms.published(query.country);
  const written = text.words.flatMap(({ exact, forms }) => [exact, ...forms]);
  const known = new Set(
    prepare(`SELECT s.term AS term FROM json_each(?) j CROSS JOIN ${layout.spellings} s ON s.term = j.value`)
      .all(JSON.stringify([...spellings.flat(), ...written]))
      .map((row) => row["term"]),
  );
  // Of the few that are left, it is exact where they occur.
  return withSpellings(
    text,
    spellings,
    (term) =>
      (known.has(term) || !isSpelling(term)) &&
      intersect([terms.rowsWithTerm(term, fields), published]).some((bits) => bits !== 0),
  );
}

/** Whether a query without clauses wants any row. */
function isMatched({ layout, terms, prepare }: Omit<TextSearch, "among">, query: RowQuery): boolean {
  const rids = matchRows(layout, terms, query);
  if (rids.length === 0) return false;
  const sql = checkSql(layout, query);
  const check = checkWith(prepare(sql.text), sql, query);
  for (let from = 0; from < rids.length; from += checkedMax)
    if (check([...rids.subarray(from, from + checkedMax)]).length > 0) return true;
  return false;
}

/**
 * Null if the walk was abandoned because checking all matches costs less than continuing, or if there is nothing to walk
 * by.
 */
function walk(
  { layout, terms, prepare }: TextSearch,
  query: RowQuery,
  { rids, check }: { readonly rids: Int32Array; readonly check: CheckRows },
): readonly WantedRow[] | null {
  const [first] = query.sort;
  if (first === undefined) return null;
  const { text, params } = walkSql(layout, query, fieldOf(layout, first.field, query.country));
  const statement = prepare(
    `SELECT json_group_array(rid) AS rids, count(value) AS valued, min(value) AS least, max(value) AS most FROM (${text})`,
  );
  let matched: Bits = new Uint32Array(((rids.at(-1) ?? 0) >>> 5) + 1);
  for (const rid of rids) matched = withBit(matched, rid, true);
  const listings = countBits(terms.published(query.country));
  let step = bounded((query.limit * listings * 1.2) / rids.length);
  const wanted: WantedRow[] = [];
  for (let read = 0; read < rids.length * walkFactor; ) {
    const part = statement.get(...params, step, read) ?? {};
    const walked = numbersIn(part["rids"]);
    read += walked.length;
    // Rows without a value come last.
    const isPast = part["valued"] !== walked.length;
    const last = isPast ? null : numberOrNull(part[first.direction === "asc" ? "most" : "least"]);
    wanted.push(...check(walked.filter((rid) => hasBit(matched, rid))));
    const found = firstOf(wanted, query);
    if (walked.length < step) return found;
    // What follows has the last value read, or comes after it.
    const worst = found[query.limit - 1];
    if (worst !== undefined && worst.values[0] !== last) return found;
    // The next step covers as much as the remaining rows need at the rate so far; in a long run of equal values there is
    // no rate.
    const rest = query.limit - found.length;
    step = bounded(rest > 0 && found.length > 0 ? (rest * read * 1.2) / found.length : step * 4);
  }
  return null;
}

function bounded(step: number): number {
  return Math.min(stepMax, Math.max(stepMin, Math.round(step)));
}

// Computes the relevance (collections/text-analysis.ts) of the rows that match a text, and the first of them in the requested
// order.

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

function scoreRows({ layout, terms, text, rids }: Scoring): Candidates {
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

/** Candidates checked first, and then, as multiples of the limit: usually nearly all are wanted, or a good part is. */
const checkedFactors = [1.3, 4];
const lastCount = 4_096;

/**
 * Numbers of the wanted rows in the order of the query, at most its limit. The best candidates are checked first; the rest
 * need no check once they cannot precede what was found.
 */
function rankRows(
  query: RowQuery,
  { candidates, terms }: { readonly candidates: Candidates; readonly terms: CollectionTerms },
  check: CheckRows,
): readonly number[] {
  const { rids, scores } = candidates;
  const [first] = query.sort;
  const isFirstKey = first?.field === textMatchKey;
  const few = checkedFactors.map((factor) => Math.ceil(query.limit * factor));
  const counts = isFirstKey ? [...few, lastCount] : [];
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

// Determines which rows match a text in a country, from what is in memory about the collection (row-terms.ts).

/** Terms that occur in fewer rows than this are not worth a bitmap. */
const bitsRowsMin = 1_024;

function searchedFields(layout: CollectionLayout, text: NonNullable<RowQuery["text"]>): readonly number[] {
  return text.fields.map((name) => layout.textFields.indexOf(name));
}

/** Where the terms of one word occur. */
interface WordRows {
  readonly lists: readonly TermList[];
  /** Postings of all lists; a row may have several. */
  readonly postings: number;
}

/** Rows published in the query's country that have every word in one of the searched fields, in ascending order. */
function matchRows(layout: CollectionLayout, terms: CollectionTerms, query: RowQuery): Int32Array {
  if (query.text === undefined) throw new Error("Rows are matched with a text");
  const fields = searchedFields(layout, query.text);
  const common: Bits[] = [terms.published(query.country)];
  const rare: WordRows[] = [];
  for (const word of query.text.words) {
    const names = wordTerms(word)
      .map(({ term }) => term)
      .filter((term) => terms.list(term).length > 0);
    const lists = names.map((term) => terms.list(term));
    const postings = lists.reduce((sum, list) => sum + list.length, 0);
    if (postings < bitsRowsMin) rare.push({ lists, postings });
    else common.push(names.map((term) => terms.rowsWithTerm(term, fields)).reduce(unite));
  }
  if (rare.length === 0) {
    const bits = intersect(common);
    return numbersOf(bits, countBits(bits));
  }
  const rarest = rare.reduce((least, word) => (word.postings < least.postings ? word : least));
  const isEverywhere = (rid: number): boolean =>
    common.every((bits) => hasBit(bits, rid)) &&
    rare.every(({ lists }) => lists.some((list) => hasTerm(list, rid, fields)));
  return Int32Array.from(rowsOf(rarest).filter(isEverywhere));
}

/** Rows that have a term of the word in any field, in ascending order. */
function rowsOf({ lists }: WordRows): readonly number[] {
  const [first, ...others] = lists.map(({ rids, length }) => [...rids.subarray(0, length)]);
  if (first === undefined || others.length === 0) return first ?? [];
  return [...new Set([first, ...others].flat())].sort((a, b) => a - b);
}

function hasTerm(list: TermList, rid: number, fields: readonly number[]): boolean {
  const at = lowerBound(list.rids, 0, list.length, rid);
  return at < list.length && list.rids[at] === rid && frequencyAt(list, at, fields) > 0;
}

/** Number of occurrences of a term in some fields of a posting's row. */
function frequencyAt(list: TermList, posting: number, fields: readonly number[]): number {
  let frequency = 0;
  for (const field of fields) frequency += list.frequencies[posting * list.fields + field] ?? 0;
  return frequency;
}

// Checks rows that were found in memory against the tables, and sorts them.

interface WantedRow {
  readonly rid: number;
  readonly record_id: string;
  /** Its position among the rows that were to be checked. */
  readonly place: number;
  /** Values by sort key; null where the row has no value, and for relevance. */
  readonly values: readonly (number | null)[];
}

/** Returns those of the given rows that the query wants, in no particular order. */
type CheckRows = (rids: readonly number[]) => readonly WantedRow[];

function checkWith(statement: StatementSync, { params }: Sql, query: RowQuery): CheckRows {
  return (rids) =>
    statement.all(JSON.stringify(rids), ...params).map((row) => {
      const place = numberOf(row["place"]);
      const values = query.sort.map((_, index) => numberOrNull(row[`s${index}`] ?? null));
      return { rid: rids[place] ?? 0, record_id: textOf(row["record_id"]), place, values };
    });
}

/** The first rows in the order of the query, at most its limit. */
function firstOf(rows: readonly WantedRow[], query: RowQuery): readonly WantedRow[] {
  return rows.toSorted((a, b) => compareRows(a, b, query)).slice(0, query.limit);
}

/** Missing values sort last in both directions; ties are broken by record_id. */
function compareRows(a: WantedRow, b: WantedRow, query: RowQuery): number {
  for (const [index, { direction }] of query.sort.entries()) {
    const [left, right] = [a.values[index] ?? null, b.values[index] ?? null];
    if (left === right) continue;
    if (left === null) return 1;
    if (right === null) return -1;
    return direction === "asc" ? left - right : right - left;
  }
  return a.record_id < b.record_id ? -1 : 1;
}
