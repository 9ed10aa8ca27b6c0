// Reads the body of a search (specification, «Retrieval API», POST /v1/search). Anything outside the grammar is refused and
// named, never rewritten or ignored. Decisions made here where the specification is silent:
//   Q1. `query_by` may be left out; every text field of the collection is then searched. This does not affect ordering,
//       because text fields weigh the same in whatever order they are named. `query_by` without `q` is refused.
//   Q2. A `q` without a single letter or digit is refused, because it cannot match anything.
//   Q3. The sort key `_text_match` requires `q`; without it the search is refused with `sort_not_allowed`.
//   Q4. A body sent to a typed address may repeat `collection`, but only with that collection's name.
//   Q5. A sort key without a direction, or with one other than asc and desc, is refused with `sort_not_allowed`.
//   Q6. If there are several faults, the first is reported: members, collection, sort_by, filter, then the others.

import { type CollectionName, collectionNames, isCollectionName } from "../protocol/identifiers.ts";
import { searchRowsMax } from "../protocol/limits.ts";
import { ok } from "../protocol/result.ts";
import { isObject, joinPointer } from "../std/json-pointer.ts";
import type { QueryWord, RowClause, RowQuery } from "../storage/row-index.ts";
import { collections } from "./collections.ts";
import { type CollectionDefinition, fieldByName, indexField, textMatchKey } from "./definition.ts";
import {
  parseFilter,
  refuseName,
  refuseSearch,
  type SearchFilter,
  type SearchResult,
  shown,
} from "./parse-filter.ts";
import { queryWords } from "./text-analysis.ts";

/** Limits from the specification, «Limits» and «Retrieval API». */
export const searchLimits = {
  rowsMax: searchRowsMax,
  qLengthMax: 512,
  /**
   * The most terms that analysis yields for the longest `q` in practice; without a bound, the caller would decide how much
   * work the service does.
   */
  termsMax: 512,
  sortKeysMax: 3,
  topicKeywordsMax: 10,
  topicKeywordLengthMax: 64,
} as const;

/** Pattern for `client_query_id` and `session_ref`. */
export const labelPattern = "^[\\x21-\\x7e]{1,128}$";

export interface SortOrder {
  /** `_text_match`, or a filter field that is a sort key. */
  readonly key: string;
  readonly direction: "asc" | "desc";
}

export interface SearchRequest extends SearchFilter {
  readonly collection: CollectionName;
  /** Absent for a search without `q`. */
  readonly text?: {
    readonly q: string;
    readonly words: readonly QueryWord[];
    readonly fields: readonly string[];
  };
  readonly sort: readonly SortOrder[];
  /** Between 1 and 50. */
  readonly limit: number;
  readonly clientQueryId?: string;
  readonly sessionRef?: string;
  readonly topicKeywords?: readonly string[];
}

export const searchMembers = [
  "collection",
  "q",
  "query_by",
  "filter",
  "sort_by",
  "limit",
  "client_query_id",
  "session_ref",
  "topic_keywords",
] as const;

type Body = Readonly<Record<string, unknown>>;

/** Reads the parsed body of a search; `impliedCollection` is the collection of a typed address, or null on /v1/search. */
export function parseSearchRequest(
  body: unknown,
  impliedCollection: CollectionName | null = null,
): SearchResult<SearchRequest> {
  if (!isObject(body)) return invalid("", "The body must be a JSON object.");
  for (const name of Object.keys(body)) {
    if (!(searchMembers as readonly string[]).includes(name)) {
      const detail = `A search has no member ${shown(name)}.`;
      return refuseName("request_invalid", joinPointer("", name), {
        given: name,
        allowed: searchMembers,
        detail,
      });
    }
  }
  const collection = parseCollection(body["collection"], impliedCollection);
  if (!collection.ok) return collection;
  const definition = collections[collection.value];
  const sort = parseSort(definition, body);
  if (!sort.ok) return sort;
  const filter = parseFilter(definition, body["filter"]);
  if (!filter.ok) return filter;
  const text = parseText(definition, body);
  if (!text.ok) return text;
  const rest = parseRest(body);
  if (!rest.ok) return rest;
  const request = { collection: collection.value, ...filter.value, sort: sort.value, ...rest.value };
  return ok(text.value === null ? request : { ...request, text: text.value });
}

function parseCollection(value: unknown, implied: CollectionName | null): SearchResult<CollectionName> {
  if (implied !== null) {
    return value === undefined || value === implied
      ? ok(implied)
      : invalid("/collection", `This address only searches ${implied}.`);
  }
  if (typeof value === "string" && isCollectionName(value)) return ok(value);
  if (typeof value !== "string") {
    return { ...invalid("/collection", "collection is required."), allowed: collectionNames };
  }
  const detail = `The collection ${shown(value)} does not exist.`;
  return refuseName("request_invalid", "/collection", { given: value, allowed: collectionNames, detail });
}

function parseSort(definition: CollectionDefinition, body: Body): SearchResult<readonly SortOrder[]> {
  const value = body["sort_by"];
  const allowed = [textMatchKey, ...definition.sortKeys];
  if (value === undefined || value === null || value === "") {
    const detail = `sort_by is required: the service never supplies an order. Sort keys are ${allowed.join(", ")}, each with :asc or :desc.`;
    return { ...refuseSearch("sort_required", "/sort_by", detail), allowed };
  }
  if (typeof value !== "string") return invalid("/sort_by", "Must be a string such as published_at:desc.");
  const parts = value.split(",");
  if (parts.length > searchLimits.sortKeysMax) {
    return invalid("/sort_by", `At most ${searchLimits.sortKeysMax} sort keys.`);
  }
  const sort: SortOrder[] = [];
  for (const part of parts) {
    const [key = "", direction, ...more] = part.split(":");
    if (!allowed.includes(key)) {
      const detail = `${definition.name} has no sort key ${shown(key)}.`;
      return refuseName("sort_not_allowed", "/sort_by", { given: key, allowed, detail });
    }
    if ((direction !== "asc" && direction !== "desc") || more.length > 0) {
      return refuseSearch(
        "sort_not_allowed",
        "/sort_by",
        `${key} needs a direction: ${key}:asc or ${key}:desc.`,
      );
    }
    if (key === textMatchKey && body["q"] === undefined) {
      return refuseSearch(
        "sort_not_allowed",
        "/sort_by",
        `${textMatchKey} sorts by the match with q, but there is no q.`,
      );
    }
    if (sort.some((earlier) => earlier.key === key)) return invalid("/sort_by", `${key} is named twice.`);
    sort.push({ key, direction });
  }
  return ok(sort);
}

function parseText(
  definition: CollectionDefinition,
  body: Body,
): SearchResult<NonNullable<SearchRequest["text"]> | null> {
  const { q, query_by: queryBy } = body;
  if (q === undefined) {
    return queryBy === undefined
      ? ok(null)
      : invalid("/query_by", "query_by says where q is searched, but there is no q.");
  }
  if (typeof q !== "string" || !hasLength(q, searchLimits.qLengthMax)) {
    return invalid("/q", `Must be a string of 1 to ${searchLimits.qLengthMax} characters.`);
  }
  const fields = queryBy === undefined ? ok(definition.textFields) : parseQueryBy(definition, queryBy);
  if (!fields.ok) return fields;
  const words = queryWords(q);
  if (words.length === 0) return invalid("/q", "q has no letter and no digit.");
  if (words.length > searchLimits.termsMax)
    return invalid("/q", `q has more than ${searchLimits.termsMax} different terms.`);
  return ok({ q, words, fields: fields.value });
}

function parseQueryBy(definition: CollectionDefinition, value: unknown): SearchResult<readonly string[]> {
  const { textFields, queryByMax } = definition;
  if (!Array.isArray(value) || value.length === 0 || value.length > queryByMax) {
    return {
      ...invalid("/query_by", `Must be an array of 1 to ${queryByMax} text fields.`),
      allowed: textFields,
    };
  }
  const fields: string[] = [];
  for (let index = 0; index < value.length; index += 1) {
    const name: unknown = value[index];
    const pointer = `/query_by/${index}`;
    if (typeof name !== "string")
      return { ...invalid(pointer, "Must be the name of a text field."), allowed: textFields };
    if (!textFields.includes(name)) {
      const detail = `${definition.name} has no text field ${shown(name)}.`;
      return refuseName("unknown_field", pointer, { given: name, allowed: textFields, detail });
    }
    if (fields.includes(name)) return invalid(pointer, `${name} is named twice.`);
    fields.push(name);
  }
  return ok(fields);
}

type Rest = Pick<SearchRequest, "limit" | "clientQueryId" | "sessionRef" | "topicKeywords">;

function parseRest(body: Body): SearchResult<Rest> {
  const {
    limit = searchLimits.rowsMax,
    client_query_id: queryId,
    session_ref: sessionRef,
    topic_keywords: keywords,
  } = body;
  if (typeof limit !== "number" || !Number.isInteger(limit) || limit < 1 || limit > searchLimits.rowsMax) {
    return invalid("/limit", `Must be an integer from 1 to ${searchLimits.rowsMax}.`);
  }
  const labelMeaning = "Must be 1 to 128 printable ASCII characters without spaces.";
  if (queryId !== undefined && !isLabel(queryId)) return invalid("/client_query_id", labelMeaning);
  if (sessionRef !== undefined && !isLabel(sessionRef)) return invalid("/session_ref", labelMeaning);
  const topics = parseTopicKeywords(keywords);
  if (!topics.ok) return topics;
  return ok({
    limit,
    ...(queryId === undefined ? {} : { clientQueryId: queryId }),
    ...(sessionRef === undefined ? {} : { sessionRef }),
    ...(topics.value === null ? {} : { topicKeywords: topics.value }),
  });
}

function parseTopicKeywords(value: unknown): SearchResult<readonly string[] | null> {
  if (value === undefined) return ok(null);
  const { topicKeywordsMax: countMax, topicKeywordLengthMax: lengthMax } = searchLimits;
  if (!Array.isArray(value) || value.length === 0 || value.length > countMax) {
    return invalid("/topic_keywords", `Must be an array of 1 to ${countMax} strings.`);
  }
  const keywords = new Set<string>();
  for (let index = 0; index < value.length; index += 1) {
    const keyword: unknown = value[index];
    const pointer = `/topic_keywords/${index}`;
    if (typeof keyword !== "string" || !hasLength(keyword, lengthMax)) {
      return invalid(pointer, `Must be a string of 1 to ${lengthMax} characters.`);
    }
    if (keywords.has(keyword)) return invalid(pointer, "Must not repeat an earlier keyword.");
    keywords.add(keyword);
  }
  return ok([...keywords]);
}

const label = new RegExp(labelPattern);

function isLabel(value: unknown): value is string {
  return typeof value === "string" && label.test(value);
}

/** True for a well-formed text of 1 to `max` Unicode characters. */
function hasLength(text: string, max: number): boolean {
  return text !== "" && text.isWellFormed() && (text.length <= max || [...text].length <= max);
}

function invalid(pointer: string, detail: string) {
  return refuseSearch("request_invalid", pointer, detail);
}

/**
 * Translates a search into the query for the index, with field names resolved for its country (`price_amount` is
 * `price_US`). Rows of `excludeBusinesses`, the businesses that blocked the caller, are left out. `sponsored` are the ids of
 * the records that are sponsored now in that country, for the filter of this name.
 */
export function toRowQuery(
  request: SearchRequest,
  excludeBusinesses: readonly string[] = [],
  sponsored: readonly string[] = [],
): RowQuery {
  const definition = collections[request.collection];
  const { country, text } = request;
  const clauses = request.clauses.map(
    ({ field, ...rest }): RowClause =>
      field.isOnRows
        ? { ...rest, field: indexField(field, country) }
        : { op: rest.op === "eq" && rest.value === true ? "among" : "except", records: sponsored },
  );
  const sort = request.sort.map(({ key, direction }) => {
    const field = key === textMatchKey ? null : fieldByName(definition, key);
    return { field: field === null ? key : indexField(field, country), direction };
  });
  return {
    collection: request.collection,
    country,
    ...(text === undefined ? {} : { text: { words: text.words, fields: text.fields } }),
    clauses,
    sort,
    limit: request.limit,
    excludeBusinesses,
  };
}
