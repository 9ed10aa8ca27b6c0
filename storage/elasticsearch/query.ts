// A row query as the body of a search. Conditions are filters, which do not score; terms score only if relevance is
// requested. A hit returns its stored text, never a parsed document.

import { textMatchKey } from "../../collections/definition.ts";
import { distanceKm, earthRadiusKm } from "../../collections/geo-distance.ts";
import { wordTerms } from "../../collections/text-analysis.ts";
import {
  type FieldClause,
  type GeoPoint,
  indexUnavailable,
  isFieldClause,
  type QueryText,
  type QueryWord,
  type RowClause,
  type RowHit,
  type RowQuery,
} from "../row-index.ts";
import { idOrder } from "./bulk.ts";
import { assertAllShards, malformed, memberOf } from "./engine.ts";
import { allTermsField, idOrderField, layoutOf, termsField } from "./layout.ts";

type Clause = Readonly<Record<string, unknown>>;

/** Maximum businesses or records in one clause: Elasticsearch accepts 65,536 terms. */
const namedMax = 50_000;

export function searchBody(query: RowQuery): Readonly<Record<string, unknown>> {
  const filter: Clause[] = [{ term: { countries: query.country } }];
  const must: Clause[] = [];
  const mustNot: Clause[] = [];
  for (const clause of query.clauses) addClause(clause, filter, mustNot);
  for (const some of partsOf(query.excludeBusinesses)) mustNot.push({ terms: { business_uuid: some } });
  const isRanked = query.sort.some(({ field }) => field === textMatchKey);
  if (query.text !== undefined) {
    const names = termFields(query.collection, query.text);
    if (isRanked) must.push(...query.text.words.map((word) => rankedWord(word, names)));
    else
      filter.push(
        ...query.text.words.map((word) =>
          anyOf(wordTerms(word).flatMap(({ term }) => names.map((name) => ({ term: { [name]: term } })))),
        ),
      );
  }
  const hasPoints = query.clauses.some(({ op }) => op === "near");
  return {
    query: {
      bool: {
        filter,
        ...(must.length === 0 ? {} : { must }),
        ...(mustNot.length === 0 ? {} : { must_not: mustNot }),
      },
    },
    sort: sortOf(query),
    size: query.limit,
    track_total_hits: false,
    _source: false,
    stored_fields: ["row", "business_uuid", "generation", ...(hasPoints ? ["points"] : [])],
  };
}

/** The index fields with the terms of the searched fields. */
function termFields(collection: string, { fields }: QueryText): readonly string[] {
  const { textFields } = layoutOf(collection).definition;
  return textFields.every((name) => fields.includes(name)) ? [allTermsField] : fields.map(termsField);
}

/** A term must occur in one of the fields; it scores the sum of its impacts. */
function matchedTerm(term: string, names: readonly string[]): Clause {
  return anyOf(names.map((name) => ({ term: { [name]: term } })));
}

/** The best of the word's terms scores, with its bonus (collections/text-analysis.ts). */
function rankedWord(word: QueryWord, names: readonly string[]): Clause {
  const queries = wordTerms(word).map(({ term, bonus }): Clause => {
    const matched = matchedTerm(term, names);
    return bonus === 0 ? matched : { bool: { must: [matched, { match_all: { boost: bonus } }] } };
  });
  return queries.length === 1 ? (queries[0] as Clause) : { dis_max: { queries } };
}

function anyOf(clauses: readonly Clause[]): Clause {
  return clauses.length === 1 ? (clauses[0] as Clause) : { bool: { should: clauses } };
}

/**
 * The body of a request that tells whether a row matches the text of a query, whatever the other clauses, and which of some
 * terms occur in its searched fields; both in the query's country. parseOccurrences reads the answer.
 */
export function occurrencesBody(
  query: RowQuery & { readonly text: QueryText },
  terms: readonly string[],
): Readonly<Record<string, unknown>> {
  const names = termFields(query.collection, query.text);
  const asWritten = searchBody({ ...query, clauses: [], sort: [] })["query"];
  return {
    query: { bool: { filter: [{ term: { countries: query.country } }] } },
    size: 0,
    track_total_hits: false,
    aggs: { found: { filters: { filters: [asWritten, ...terms.map((term) => matchedTerm(term, names))] } } },
  };
}

const nothing: Clause = { match_none: {} };

function partsOf(names: readonly string[]): readonly (readonly string[])[] {
  const parts: (readonly string[])[] = [];
  for (let from = 0; from < names.length; from += namedMax) parts.push(names.slice(from, from + namedMax));
  return parts;
}

function addClause(clause: RowClause, filter: Clause[], mustNot: Clause[]): void {
  if (!isFieldClause(clause)) {
    const named = partsOf(clause.records).map((values) => ({ ids: { values } }));
    if (clause.op === "except") mustNot.push(...named);
    else filter.push(named.length === 0 ? nothing : anyOf(named));
    return;
  }
  const { field } = clause;
  switch (clause.op) {
    case "eq":
    case "ne":
      (clause.op === "eq" ? filter : mustNot).push(
        isWritable(clause.value) ? { term: { [field]: clause.value } } : nothing,
      );
      return;
    case "in":
    case "nin":
      (clause.op === "in" ? filter : mustNot).push({ terms: { [field]: clause.values.filter(isWritable) } });
      return;
    case "near":
      filter.push(circle(field, clause));
      return;
    default:
      filter.push(
        isWritable(clause.value) ? { range: { [field]: { [clause.op]: clause.value } } } : beyond(clause),
      );
  }
}

/** JSON has no infinity, which a long enough decimal becomes. No row has it either. */
function isWritable(value: unknown): boolean {
  return typeof value !== "number" || Number.isFinite(value);
}

/** A comparison with infinity holds for every number or for none. */
function beyond(clause: Extract<FieldClause, { readonly op: "lt" | "lte" | "gt" | "gte" }>): Clause {
  const isBelow = clause.op === "lt" || clause.op === "lte";
  return isBelow === clause.value > 0 ? { exists: { field: clause.field } } : nothing;
}

/** No two places are farther apart than this. */
const distanceKmMax = Math.PI * earthRadiusKm;

/**
 * A circle that contains every place of the wanted one and perhaps a few beyond its edge: the engine rounds places to a
 * centimetre, and its distances are off by up to 40 cm when they are large. The hits are measured again.
 */
function circle(field: string, { point, radiusKm }: Extract<FieldClause, { readonly op: "near" }>): Clause {
  const meters = radiusKm * 1_000 + (radiusKm < 500 ? 0.1 : 2);
  if (meters >= distanceKmMax * 1_000) return { exists: { field } };
  return { geo_distance: { distance: `${meters}m`, [field]: { lat: point.lat, lon: point.lng } } };
}

/** A row without the field comes last; ties are broken by record id. */
function sortOf({ sort }: RowQuery): readonly Clause[] {
  const keys = sort.map(({ field, direction: order }) =>
    field === textMatchKey
      ? { _score: { order } }
      : { [field]: { order, missing: "_last", unmapped_type: "double" } },
  );
  return [...keys, { [idOrderField]: { order: "asc" } }];
}

// Parses the answer of a search, and checks that each row is one that was requested.

export interface FoundPage {
  /** Rows that the query wants, in its order. */
  readonly hits: readonly RowHit[];
  /** Number of rows in the answer, wanted or not. */
  readonly answered: number;
  /** Sort values of the last row: where the next page begins. Null unless they were requested. */
  readonly last: readonly unknown[] | null;
}

/**
 * The parts of the answer that are read; nothing else is sent. Sort values are included only if a next page may be
 * requested.
 */
export function hitsFilterPath(query: RowQuery): string {
  const parts = "timed_out,_shards.failed,hits.hits._id,hits.hits.fields";
  return query.clauses.some(({ op }) => op === "near") ? `${parts},hits.hits.sort` : parts;
}

/** Parses an answer. Throws `IndexUnavailable` unless all of every shard was searched (X5). */
export function parseHits(answer: unknown, query: RowQuery): FoundPage {
  assertComplete(answer);
  // For an empty result the filter leaves nothing to send.
  const found = memberOf(memberOf(answer, "hits"), "hits") ?? [];
  if (!Array.isArray(found)) throw malformed("hits");
  const circles = query.clauses.filter((clause) => clause.op === "near");
  const hits: RowHit[] = [];
  for (const hit of found as readonly unknown[]) {
    const fields = memberOf(hit, "fields");
    if (!circles.every((circle) => isNear(fields, circle))) continue;
    const record_id = memberOf(hit, "_id");
    if (typeof record_id !== "string") throw malformed("the id of a hit");
    hits.push({
      record_id,
      business_uuid: stored(fields, "business_uuid"),
      generation: storedNumber(fields, "generation"),
      row: stored(fields, "row"),
    });
  }
  return { hits, answered: found.length, last: sortValues(found.at(-1)) };
}

export const occurrencesFilterPath = "timed_out,_shards.failed,aggregations.found.buckets.doc_count";

export interface Occurrences {
  /** Whether a row matches the text as it is written. */
  readonly isMatched: boolean;
  /** Those of the terms that occur. */
  readonly occurring: ReadonlySet<string>;
}

/** Parses the answer to `occurrencesBody` of the same terms. Throws `IndexUnavailable` unless all rows were seen (X5). */
export function parseOccurrences(answer: unknown, terms: readonly string[]): Occurrences {
  assertComplete(answer);
  const buckets = memberOf(memberOf(memberOf(answer, "aggregations"), "found"), "buckets");
  if (!Array.isArray(buckets) || buckets.length !== terms.length + 1) throw malformed("occurrences");
  const counts = (buckets as readonly unknown[]).map((bucket) => memberOf(bucket, "doc_count"));
  if (!counts.every((count) => typeof count === "number")) throw malformed("numbers of occurrences");
  const occurring = new Set(terms.filter((_, index) => counts[index + 1] !== 0));
  return { isMatched: counts[0] !== 0, occurring };
}

function assertComplete(answer: unknown): void {
  assertAllShards(answer);
  if (memberOf(answer, "timed_out") !== false)
    throw indexUnavailable("timeout", "The index gave up searching before it had seen all rows.");
}

function sortValues(hit: unknown): readonly unknown[] | null {
  const values = memberOf(hit, "sort");
  if (!Array.isArray(values)) return null;
  const id = memberOf(hit, "_id");
  if (typeof id !== "string") throw malformed("the id of a hit");
  // The last key is a number with more bits than JSON numbers keep.
  return [...(values as readonly unknown[]).slice(0, -1), idOrder(id)];
}

function stored(fields: unknown, name: string): string {
  const value = firstOf(fields, name);
  if (typeof value !== "string") throw malformed(`the ${name} of a hit`);
  return value;
}

function storedNumber(fields: unknown, name: string): number {
  const value = firstOf(fields, name);
  if (typeof value !== "number") throw malformed(`the ${name} of a hit`);
  return value;
}

function firstOf(fields: unknown, name: string): unknown {
  const values = memberOf(fields, name);
  return Array.isArray(values) ? (values as readonly unknown[])[0] : undefined;
}

function isNear(
  fields: unknown,
  { field, point, radiusKm }: Extract<RowQuery["clauses"][number], { readonly op: "near" }>,
): boolean {
  return placesOf(stored(fields, "points"), field).some((place) => distanceKm(place, point) <= radiusKm);
}

/** The exact places of a field, as bulk.ts stored them. */
function placesOf(points: string, field: string): readonly GeoPoint[] {
  try {
    const places = memberOf(JSON.parse(points), field);
    if (Array.isArray(places)) return places as readonly GeoPoint[];
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw malformed(`the ${field} of a hit`);
}
