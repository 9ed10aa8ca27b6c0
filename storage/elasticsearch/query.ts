// A row query as the body of a search. Conditions are filters, which do not score; terms score only if relevance is
// requested. A hit returns its stored text, never a parsed document.

import { textMatchKey } from "../../collections/definition.ts";
import { earthRadiusKm } from "../../collections/geo-distance.ts";
import { wordTerms } from "../../collections/relevance.ts";
import {
  type FieldClause,
  isFieldClause,
  type QueryText,
  type QueryWord,
  type RowClause,
  type RowQuery,
} from "../row-index.ts";
import { allTermsField, idOrderField, layoutOf, termsField } from "./layout.ts";

type Clause = Readonly<Record<string, unknown>>;

/** Maximum businesses or records in one clause: Elasticsearch accepts 65,536 terms. */
const namedMax = 50_000;

/** The body of a search for the first rows of a query. */
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
    else filter.push(...query.text.words.map((word) => matchedWord(word, names)));
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
    stored_fields: hasPoints ? ["row", "business_uuid", "points"] : ["row", "business_uuid"],
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

function matchedWord(word: QueryWord, names: readonly string[]): Clause {
  return anyOf(wordTerms(word).flatMap(({ term }) => names.map((name) => ({ term: { [name]: term } }))));
}

/** The best of the word's terms scores, with its bonus (collections/relevance.ts). */
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
 * centimetre, and its distances are off by up to 40 cm when they are large. hits.ts measures again.
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
