// The searchable rows in memory, scanned in full by every search. It is the simulator's index, and the reference with
// which the conformance suite compares the others: short enough to be obviously correct.

import { textMatchKey } from "../../collections/definition.ts";
import { distanceKm } from "../../collections/geo-distance.ts";
import { rowDocument } from "../../collections/row-change.ts";
import { spellingsOfText, termImpact, withSpellings, wordTerms } from "../../collections/text-analysis.ts";
import {
  type GeoPoint,
  type IndexDocument,
  type IndexValue,
  isFieldClause,
  type QueryText,
  type QueryWord,
  type RowChange,
  type RowClause,
  type RowHit,
  type RowIndex,
  type RowQuery,
} from "../row-index.ts";

type Put = Extract<RowChange, { readonly kind: "put" }> & { readonly document: IndexDocument };
type Remove = Extract<RowChange, { readonly kind: "remove" }>;
type SortValue = string | number | null;

interface Ranked {
  readonly put: Put;
  readonly values: readonly SortValue[];
}

export class MemoryRowIndex implements RowIndex {
  readonly #changes = new Map<string, Put | Remove>();

  async apply(changes: readonly RowChange[]): Promise<readonly ("applied" | "stale")[]> {
    const derived = changes.map((change) =>
      change.kind === "put" ? { ...change, document: rowDocument(change) } : change,
    );
    return derived.map((change) => {
      const known = this.#changes.get(change.record_id);
      if (known !== undefined && change.change <= known.change) return "stale";
      this.#changes.set(change.record_id, change);
      return "applied";
    });
  }

  async search(asked: RowQuery): Promise<readonly RowHit[]> {
    const live = this.#live(asked.collection);
    const query = asked.text === undefined ? asked : spelt(live, asked, asked.text);
    const found = live.filter((put) => matches(put, query));
    const ranked = found.map(
      (put): Ranked => ({ put, values: query.sort.map(({ field }) => sortValue(put, field, query)) }),
    );
    ranked.sort((a, b) => compare(a, b, query));
    return ranked.slice(0, query.limit).map(({ put: { record_id, business_uuid, generation, row } }) => ({
      record_id,
      business_uuid,
      generation,
      row,
    }));
  }

  async isFindable(collection: string, recordId: string): Promise<boolean> {
    const known = this.#changes.get(recordId);
    return known?.kind === "put" && known.collection === collection && known.document.countries.length > 0;
  }

  /** Nothing of what was replaced is kept. */
  async purge(): Promise<void> {}

  async count(collection: string): Promise<number> {
    return this.#live(collection).filter((put) => put.document.countries.length > 0).length;
  }

  #live(collection: string): readonly Put[] {
    return [...this.#changes.values()].filter(
      (change) => change.kind === "put" && change.collection === collection,
    ) as readonly Put[];
  }
}

function matches(put: Put, query: RowQuery): boolean {
  const { business_uuid: business, document } = put;
  if (!document.countries.includes(query.country) || query.excludeBusinesses.includes(business)) return false;
  if (query.text !== undefined) {
    const { words, fields } = query.text;
    const terms = new Set(fields.flatMap((field) => termsOf(document, field)));
    if (!words.every((word) => wordTerms(word).some(({ term }) => terms.has(term)))) return false;
  }
  return query.clauses.every((clause) => holds(clause, put));
}

/** X8: the query as it is, or with the misspellings that count. */
function spelt(live: readonly Put[], query: RowQuery, text: QueryText): RowQuery {
  if (live.some((put) => matches(put, { ...query, clauses: [] }))) return query;
  const published = live.filter((put) => put.document.countries.includes(query.country));
  const terms = new Set(
    published.flatMap(({ document }) => text.fields.flatMap((field) => termsOf(document, field))),
  );
  const more = withSpellings(text, spellingsOfText(text), (term) => terms.has(term));
  return more === null ? query : { ...query, text: more };
}

/** `ne` and `nin` hold for a row without the field; every other operator does not. */
function holds(clause: RowClause, { record_id, document }: Put): boolean {
  if (!isFieldClause(clause)) return clause.records.includes(record_id) === (clause.op === "among");
  const values = valuesOf(document, clause.field);
  const isAmong = (wanted: readonly IndexValue[]) => values.some((value) => wanted.includes(value));
  switch (clause.op) {
    case "eq":
      return isAmong([clause.value]);
    case "ne":
      return !isAmong([clause.value]);
    case "in":
      return isAmong(clause.values);
    case "nin":
      return !isAmong(clause.values);
    case "near": {
      const points: readonly GeoPoint[] = document.points[clause.field] ?? [];
      return points.some((point) => distanceKm(point, clause.point) <= clause.radiusKm);
    }
    case "lt":
      return values.some((value) => Number(value) < clause.value);
    case "lte":
      return values.some((value) => Number(value) <= clause.value);
    case "gt":
      return values.some((value) => Number(value) > clause.value);
    case "gte":
      return values.some((value) => Number(value) >= clause.value);
  }
}

function valuesOf(document: IndexDocument, field: string): readonly IndexValue[] {
  const value = document.fields[field];
  if (value === undefined) return [];
  return Array.isArray(value) ? (value as readonly IndexValue[]) : [value as IndexValue];
}

function termsOf(document: IndexDocument, field: string): readonly string[] {
  return document.texts[field]?.split(" ") ?? [];
}

function sortValue(put: Put, field: string, query: RowQuery): SortValue {
  if (field === textMatchKey) return relevance(put.document, query);
  const [value] = valuesOf(put.document, field);
  return typeof value === "boolean" ? Number(value) : (value ?? null);
}

function compare(a: Ranked, b: Ranked, query: RowQuery): number {
  for (const [index, { direction }] of query.sort.entries()) {
    const [left, right] = [a.values[index] ?? null, b.values[index] ?? null];
    if (left === right) continue;
    if (left === null) return 1;
    if (right === null) return -1;
    return left < right === (direction === "asc") ? -1 : 1;
  }
  return a.put.record_id < b.put.record_id ? -1 : 1;
}

/** See collections/text-analysis.ts. */
function relevance(document: IndexDocument, query: RowQuery): number {
  const { words, fields } = query.text ?? { words: [], fields: [] };
  const texts = fields.map((field) => termsOf(document, field));
  return words.reduce((sum, word) => sum + wordRelevance(word, texts), 0);
}

function wordRelevance(word: QueryWord, texts: readonly (readonly string[])[]): number {
  const ofTerms = wordTerms(word).map(({ term, bonus }) => {
    const impacts = texts.map((words) =>
      termImpact(words.filter((each) => each === term).length, words.length),
    );
    const sum = impacts.reduce((total, impact) => total + impact, 0);
    return sum === 0 ? 0 : bonus + sum;
  });
  return Math.max(0, ...ofTerms);
}
