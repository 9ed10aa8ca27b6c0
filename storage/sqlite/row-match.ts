// Determines which rows match a text in a country, from what is in memory about the collection (row-terms.ts).

import { wordTerms } from "../../collections/relevance.ts";
import type { RowQuery } from "../row-index.ts";
import { type Bits, countBits, hasBit, intersect, numbersOf, unite } from "./row-bits.ts";
import type { CollectionLayout } from "./row-layout.ts";
import { type CollectionTerms, lowerBound, type TermList } from "./row-terms.ts";

/** Terms that occur in fewer rows than this are not worth a bitmap. */
const bitsRowsMin = 1_024;

/** Numbers of the text fields that a query searches. */
export function searchedFields(
  layout: CollectionLayout,
  text: NonNullable<RowQuery["text"]>,
): readonly number[] {
  return text.fields.map((name) => layout.textFields.indexOf(name));
}

/** Where the terms of one word occur. */
interface WordRows {
  readonly lists: readonly TermList[];
  /** Postings of all lists; a row may have several. */
  readonly postings: number;
}

/** Rows published in the query's country that have every word in one of the searched fields, in ascending order. */
export function matchRows(layout: CollectionLayout, terms: CollectionTerms, query: RowQuery): Int32Array {
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
