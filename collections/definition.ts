// What a collection can be queried for (specification, «Retrieval API», filter fields). The parsing of search requests, the
// JSON Schema, the index documents and the layout of every engine are all derived from these definitions.

import type { CollectionName } from "../protocol/identifiers.ts";

export const operators = ["eq", "ne", "in", "nin", "lt", "lte", "gt", "gte", "near"] as const;

export type Operator = (typeof operators)[number];

/**
 * What a field holds and how its operands are written: `keyword` is a string compared exactly; `money` a number or decimal
 * string; `timestamp` an ISO 8601 string; `geopoint` `{lat, lng, radius_km}`; `country` the single country of a search.
 */
export type FieldType = "country" | "keyword" | "boolean" | "integer" | "money" | "timestamp" | "geopoint";

export interface FilterField {
  readonly name: string;
  readonly type: FieldType;
  readonly operators: readonly Operator[];
  /** A row may have several values; `eq` and `in` hold when any of them matches. */
  readonly multiple: boolean;
  /**
   * For a field whose value differs by country: the stem of its index fields and row members, to which the country code is
   * appended.
   */
  readonly countryStem: string | null;
  /**
   * Whether rows and their index documents have the field. What is sponsored is known when a search is answered, and by no row:
   * the query then names the records (search-request.ts).
   */
  readonly isOnRows: boolean;
  readonly description: string;
}

export interface CollectionDefinition {
  readonly name: CollectionName;
  /** Path segment of the collection's typed address. */
  readonly path: string;
  readonly title: string;
  /** Names allowed in `query_by`; each is a row member that holds a string or an array of strings. */
  readonly textFields: readonly string[];
  readonly queryByMax: number;
  readonly fields: readonly FilterField[];
  /** Sort keys other than {@link textMatchKey}, as names of filter fields. */
  readonly sortKeys: readonly string[];
}

/** Sort key for relevance; allowed only in a search with `q`. */
export const textMatchKey = "_text_match";

/** Index field for a filter field or sort key in a country; for example, `price_amount` becomes `price_US`. */
export function indexField(field: FilterField, country: string): string {
  return field.countryStem === null ? field.name : `${field.countryStem}${country}`;
}

export function fieldByName(definition: CollectionDefinition, name: string): FilterField | null {
  return definition.fields.find((field) => field.name === name) ?? null;
}
