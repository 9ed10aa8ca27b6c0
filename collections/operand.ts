// Operands of filter clauses: converts what a caller writes into what the index compares. Units are those of
// index-document.ts.

import { isDecimal, parseDateTime } from "../protocol/identifiers.ts";
import { countries } from "../protocol/records/vocabularies/countries.ts";
import { ok } from "../protocol/result.ts";
import { isObject } from "../std/is-object.ts";
import type { GeoPoint, IndexValue } from "../storage/row-index.ts";
import type { FieldType } from "./definition.ts";
import { refuseSearch, type SearchResult } from "./search-refusal.ts";

/** Maximum length of any string filter value (specification, «Limits»). */
export const stringOperandMax = 256;
/** Half the circumference of the earth; every place is closer than that. */
export const radiusKmMax = 20_038;

/** Reads one operand of a field; `near` has its own reader, {@link parseNear}. */
export function parseOperand(type: FieldType, value: unknown, pointer: string): SearchResult<IndexValue> {
  switch (type) {
    case "boolean":
      return typeof value === "boolean" ? ok(value) : invalid(pointer, "true or false");
    case "integer":
      return Number.isSafeInteger(value) ? ok(value as number) : invalid(pointer, "an integer");
    case "money":
      return parseMoney(value, pointer);
    case "timestamp":
      return parseInstant(value, pointer);
    case "country":
      return typeof value === "string" && countries.codes.has(value)
        ? ok(value)
        : invalid(pointer, "a country code of ISO 3166-1 alpha-2 such as US or GB");
    case "keyword":
      return isStringOperand(value)
        ? ok(value)
        : invalid(pointer, `a string of 1 to ${stringOperandMax} characters`);
    case "geopoint":
      return invalid(pointer, "given with near");
  }
}

/** Reads `{lat, lng, radius_km}`: coordinates in degrees, and a radius in kilometres above 0. */
export function parseNear(
  value: unknown,
  pointer: string,
): SearchResult<{ readonly point: GeoPoint; readonly radiusKm: number }> {
  const meaning = `an object of exactly lat (-90 to 90), lng (-180 to 180) and radius_km (above 0, at most ${radiusKmMax})`;
  if (!isObject(value)) return invalid(pointer, meaning);
  const { lat, lng, radius_km: radiusKm, ...rest } = value as Readonly<Record<string, unknown>>;
  const isPlace =
    isWithin(lat, -90, 90) && isWithin(lng, -180, 180) && isWithin(radiusKm, 0, radiusKmMax) && radiusKm > 0;
  return isPlace && Object.keys(rest).length === 0
    ? ok({ point: { lat, lng }, radiusKm })
    : invalid(pointer, meaning);
}

function parseMoney(value: unknown, pointer: string): SearchResult<number> {
  if (typeof value === "number" && Number.isFinite(value)) return ok(value);
  return typeof value === "string" && isDecimal(value)
    ? ok(Number(value))
    : invalid(pointer, 'a number or a decimal string such as "19.90"');
}

const date = /^\d{4}-\d{2}-\d{2}$/;

/** Reads a date-time (RFC 3339 §5.6); a date alone means its first instant in UTC. */
function parseInstant(value: unknown, pointer: string): SearchResult<number> {
  const meaning = "an ISO 8601 time such as 2026-01-31T08:00:00.000Z, or a date";
  if (typeof value !== "string") return invalid(pointer, meaning);
  const ms = parseDateTime(date.test(value) ? `${value}T00:00:00Z` : value);
  return ms === null ? invalid(pointer, meaning) : ok(ms);
}

function isStringOperand(value: unknown): value is string {
  if (typeof value !== "string" || value === "" || !value.isWellFormed()) return false;
  return value.length <= stringOperandMax || [...value].length <= stringOperandMax;
}

function isWithin(value: unknown, min: number, max: number): value is number {
  return typeof value === "number" && value >= min && value <= max;
}

function invalid(pointer: string, meaning: string) {
  return refuseSearch("request_invalid", pointer, `Must be ${meaning}.`);
}
