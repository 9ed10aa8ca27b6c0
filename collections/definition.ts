// What one collection can be asked (specification, «Retrieval API», filter fields). From these definitions follow the
// reading of search requests, the JSON Schema, the index documents and the layout of every engine.

import type { CollectionName } from "../protocol/identifiers.ts";

export const operators = ["eq", "ne", "in", "nin", "lt", "lte", "gt", "gte", "near"] as const;

export type Operator = (typeof operators)[number];

/**
 * What a field holds and how its operands are written: `keyword` a string compared exactly; `money` a number or decimal
 * string; `timestamp` an ISO 8601 string; `geopoint` `{lat, lng, radius_km}`; `country` the one country of a search.
 */
export type FieldType = "country" | "keyword" | "boolean" | "integer" | "money" | "timestamp" | "geopoint";

export interface FilterField {
  readonly name: string;
  readonly type: FieldType;
  readonly operators: readonly Operator[];
  /** A row may have several values; `eq` and `in` hold when one of them matches. */
  readonly multiple: boolean;
  /**
   * For a field that means the country's own value: the stem of the index fields and row members, to which the country
   * code is added.
   */
  readonly countryStem: string | null;
  readonly description: string;
}

export interface CollectionDefinition {
  readonly name: CollectionName;
  /** Path segment of the typed address. */
  readonly path: string;
  readonly title: string;
  /** Names allowed in `query_by`, each a row member that is a string or an array of strings. */
  readonly textFields: readonly string[];
  readonly queryByMax: number;
  readonly fields: readonly FilterField[];
  /** Sort keys besides {@link textMatchKey}: names of filter fields. */
  readonly sortKeys: readonly string[];
}

/** Sort key of relevance; only for a search with `q`. */
export const textMatchKey = "_text_match";

/** Index field of a filter field or sort key in a country: `price_amount` is `price_US`. */
export function indexField(field: FilterField, country: string): string {
  return field.countryStem === null ? field.name : `${field.countryStem}${country}`;
}

export function fieldByName(definition: CollectionDefinition, name: string): FilterField | null {
  return definition.fields.find((field) => field.name === name) ?? null;
}
