// A published row as a change to an index, and what an index makes of it.

import { type CollectionName, parseTimestamp } from "../protocol/identifiers.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import type { GeoPoint, IndexDocument, IndexValue, RowChange } from "../storage/row-index.ts";
import { collections } from "./collections.ts";
import type { FieldType, FilterField } from "./definition.ts";
import { analyse } from "./text-analysis.ts";

/** Builds the change from the exact signed row text as it is stored. */
export function rowPut(
  collection: CollectionName,
  {
    record_id,
    generation,
    change,
  }: { readonly record_id: string; readonly generation: number; readonly change: number },
  row: string,
): Extract<RowChange, { kind: "put" }> {
  // This is text the service stored itself: the row that a push signed.
  const { business_uuid } = JSON.parse(row) as JsonObject & { readonly business_uuid: string };
  return { kind: "put", collection, record_id, business_uuid, generation, change, row };
}

/** The document by which an engine searches a row; throws for a text that is not JSON. */
export function rowDocument({
  collection,
  row,
}: {
  readonly collection: CollectionName;
  readonly row: string;
}): IndexDocument {
  return indexDocument(collection, JSON.parse(row) as JsonObject);
}

// Turns a row into what an engine receives for it. The row alone suffices, so an index can be rebuilt from its rows.

/**
 * Builds the index document of a row, projected or signed. Values are in the units of the index: timestamps and
 * `published_at` in Unix milliseconds, money as numbers. A member missing from the row is a field missing from the document.
 */
export function indexDocument(collection: CollectionName, row: JsonObject): IndexDocument {
  const definition = collections[collection];
  const countries = stringsOf(row["countries"]);
  const fields: Record<string, IndexValue | readonly IndexValue[]> = {};
  const points: Record<string, readonly GeoPoint[]> = {};
  for (const field of definition.fields) {
    if (!field.isOnRows) continue;
    if (field.type === "geopoint") addPoints(points, field, row[field.name]);
    else if (field.countryStem !== null) {
      for (const country of countries) addValue(fields, `${field.countryStem}${country}`, field, row);
    } else if (field.type !== "country") addValue(fields, field.name, field, row);
  }
  const texts: Record<string, string> = {};
  for (const name of definition.textFields) {
    const value = row[name];
    const terms = typeof value === "string" ? analyse(value) : stringsOf(value).flatMap(analyse);
    if (terms.length > 0) texts[name] = terms.join(" ");
  }
  return { countries, fields, points, texts };
}

function addValue(
  fields: Record<string, IndexValue | readonly IndexValue[]>,
  name: string,
  field: FilterField,
  row: JsonObject,
): void {
  const value = row[name];
  if (value === undefined) return;
  if (field.multiple) {
    const values = stringsOf(value);
    if (values.length > 0) fields[name] = values;
    return;
  }
  const indexed = name === "published_at" ? secondsToMs(value) : indexValue(field.type, value);
  if (indexed !== null) fields[name] = indexed;
}

/** Returns null for a value that is not of the field's type. */
function indexValue(type: FieldType, value: JsonValue): IndexValue | null {
  if (type === "timestamp") return typeof value === "string" ? parseTimestamp(value) : null;
  if (type === "money" || type === "integer") return typeof value === "number" ? value : null;
  if (type === "boolean") return typeof value === "boolean" ? value : null;
  return typeof value === "string" ? value : null;
}

function secondsToMs(value: JsonValue): number | null {
  return typeof value === "number" ? value * 1000 : null;
}

function addPoints(
  points: Record<string, readonly GeoPoint[]>,
  field: FilterField,
  value: JsonValue | undefined,
): void {
  const values = Array.isArray(value) ? (value as readonly JsonValue[]) : [value];
  const found = values.filter(isPoint).map(({ lat, lng }) => ({ lat, lng }));
  if (found.length > 0) points[field.name] = found;
}

function isPoint(value: JsonValue | undefined): value is { readonly lat: number; readonly lng: number } {
  if (typeof value !== "object" || value === null) return false;
  const { lat, lng } = value as JsonObject;
  return typeof lat === "number" && typeof lng === "number";
}

function stringsOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value)
    ? (value as readonly JsonValue[]).filter((item) => typeof item === "string")
    : [];
}
