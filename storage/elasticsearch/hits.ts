// Parses the answer of a search, and checks that each row is one that was requested.

import { distanceKm } from "../../collections/geo-distance.ts";
import { type GeoPoint, indexUnavailable, type RowHit, type RowQuery } from "../row-index.ts";
import { idOrder } from "./document.ts";
import { assertAllShards, malformed, memberOf } from "./engine.ts";

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
    hits.push({ record_id, business_uuid: stored(fields, "business_uuid"), row: stored(fields, "row") });
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
  const values = memberOf(fields, name);
  const value: unknown = Array.isArray(values) ? values[0] : undefined;
  if (typeof value !== "string") throw malformed(`the ${name} of a hit`);
  return value;
}

function isNear(
  fields: unknown,
  { field, point, radiusKm }: Extract<RowQuery["clauses"][number], { readonly op: "near" }>,
): boolean {
  return placesOf(stored(fields, "points"), field).some((place) => distanceKm(place, point) <= radiusKm);
}

/** The exact places of a field, as document.ts stored them. */
function placesOf(points: string, field: string): readonly GeoPoint[] {
  try {
    const places = memberOf(JSON.parse(points), field);
    if (Array.isArray(places)) return places as readonly GeoPoint[];
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw malformed(`the ${field} of a hit`);
}
