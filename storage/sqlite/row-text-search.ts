// Searches with a text. The rows that match it are known from memory (row-match.ts); what remains is to find the first of
// them in the requested order:
//   - by relevance, the best are checked until no other can precede them (row-relevance.ts);
//   - by a number, a small set of matches is checked in full; of a large one, those that come first in a walk over the
//     number's index.
// If no row matches the text as it is written, it is searched for again with the misspellings that count (misspelling.ts).

import type { StatementSync } from "node:sqlite";
import { isSpelling, spellingsOfText, withSpellings } from "../../collections/misspelling.ts";
import type { QueryText, RowQuery } from "../row-index.ts";
import { numberOrNull, numbersIn } from "./columns.ts";
import { type Bits, countBits, hasBit, intersect, withBit } from "./row-bits.ts";
import { type CheckRows, checkWith, firstOf, type WantedRow } from "./row-check.ts";
import { fieldOf } from "./row-conditions.ts";
import type { CollectionLayout } from "./row-layout.ts";
import { matchRows, searchedFields } from "./row-match.ts";
import { isByRelevance } from "./row-plan.ts";
import { rankRows, scoreRows } from "./row-relevance.ts";
import { checkSql, walkSql } from "./row-select.ts";
import type { CollectionTerms } from "./row-terms.ts";

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
