// Determines which rows match a text in a country, from what is in memory about the collection (row-terms.ts).

import type { RowQuery } from "../row-index.ts";
import { type Bits, countBits, hasBit, intersect, numbersOf } from "./row-bits.ts";
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

/** Rows published in the query's country that have every term in one of the searched fields, in ascending order. */
export function matchRows(layout: CollectionLayout, terms: CollectionTerms, query: RowQuery): Int32Array {
  if (query.text === undefined) throw new Error("Rows are matched with a text");
  const fields = searchedFields(layout, query.text);
  const published = terms.published(query.country);
  const common: Bits[] = [published];
  const rare: TermList[] = [];
  for (const term of query.text.terms) {
    const list = terms.list(term);
    if (list.length < bitsRowsMin) rare.push(list);
    else common.push(terms.rowsWithTerm(term, fields));
  }
  if (rare.length === 0) {
    const bits = intersect(common);
    return numbersOf(bits, countBits(bits));
  }
  const shortest = rare.reduce((least, list) => (list.length < least.length ? list : least));
  const found: number[] = [];
  for (let posting = 0; posting < shortest.length; posting += 1) {
    const rid = shortest.rids[posting] ?? 0;
    const isEverywhere =
      common.every((bits) => hasBit(bits, rid)) && rare.every((list) => hasTerm(list, rid, fields));
    if (isEverywhere) found.push(rid);
  }
  return Int32Array.from(found);
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
