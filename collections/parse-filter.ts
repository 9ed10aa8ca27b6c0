// The filter of a search: `{all: [clause, …]}` (specification, «Retrieval API», search).

import { isDecimal, parseDateTime } from "../protocol/identifiers.ts";
import { countries } from "../protocol/records/vocabularies/countries.ts";
import { ok, type Refusal } from "../protocol/result.ts";
import { nearestName, notAnObject } from "../protocol/shape.ts";
import { isObject, joinPointer } from "../std/json-pointer.ts";
import type { GeoPoint, IndexValue } from "../storage/row-index.ts";
import {
  type CollectionDefinition,
  type FieldType,
  type FilterField,
  fieldByName,
  type Operator,
  operators,
} from "./definition.ts";

/** Maximum number of clauses in a filter (specification, «Limits»). */
export const clausesMax = 20;
export const inValuesMax = 10;

/** One condition on a filter field, with its operands in the units of the index. */
export type SearchClause =
  | { readonly field: FilterField; readonly op: "eq" | "ne"; readonly value: IndexValue }
  | { readonly field: FilterField; readonly op: "in" | "nin"; readonly values: readonly IndexValue[] }
  | { readonly field: FilterField; readonly op: "lt" | "lte" | "gt" | "gte"; readonly value: number }
  | { readonly field: FilterField; readonly op: "near"; readonly point: GeoPoint; readonly radiusKm: number };

export interface SearchFilter {
  readonly country: string;
  /** Every condition except the country. */
  readonly clauses: readonly SearchClause[];
}

/**
 * Reads a filter. A clause names one field; its object may carry several operators, all of which must hold, and each counts
 * as a clause towards the limit. Exactly one country must be named; naming the same one again changes nothing.
 */
export function parseFilter(definition: CollectionDefinition, value: unknown): SearchResult<SearchFilter> {
  if (!isObject(value))
    return invalid(
      "/filter",
      value === undefined
        ? "filter is required: {all: [clause, …]}."
        : `${notAnObject(value)} Its form is {all: [clause, …]}.`,
    );
  for (const name of Object.keys(value)) {
    if (name !== "all") {
      const pointer = joinPointer("/filter", name);
      return refuseName("request_invalid", pointer, {
        given: name,
        allowed: ["all"],
        detail: "A filter must have exactly one member, all.",
      });
    }
  }
  const all = value["all"];
  if (!Array.isArray(all)) return invalid("/filter/all", "Must be an array of clauses.");
  const clauses: SearchClause[] = [];
  for (let index = 0; index < all.length; index += 1) {
    const parsed = parseClause(definition, all[index], `/filter/all/${index}`);
    if (!parsed.ok) return parsed;
    clauses.push(...parsed.value);
    if (clauses.length > clausesMax)
      return invalid("/filter/all", `A filter must have at most ${clausesMax} clauses.`);
  }
  return splitCountry(clauses);
}

function splitCountry(all: readonly SearchClause[]): SearchResult<SearchFilter> {
  const clauses: SearchClause[] = [];
  const named = new Set<IndexValue>();
  for (const clause of all) {
    if (clause.field.type === "country" && clause.op === "eq") named.add(clause.value);
    else clauses.push(clause);
  }
  const [country] = named;
  if (typeof country !== "string")
    return invalid("/filter/all", 'Exactly one country must be named: {"country": "US"}.');
  if (named.size > 1)
    return invalid("/filter/all", `Exactly one country must be named, not ${[...named].join(" and ")}.`);
  return ok({ country, clauses });
}

function parseClause(
  definition: CollectionDefinition,
  value: unknown,
  pointer: string,
): SearchResult<readonly SearchClause[]> {
  const names = isObject(value) ? Object.keys(value) : [];
  const [name] = names;
  if (!isObject(value) || name === undefined || names.length > 1) {
    return invalid(pointer, "A clause must be an object with one member, the field name.");
  }
  const field = fieldByName(definition, name);
  if (field === null) {
    const allowed = definition.fields.map((each) => each.name);
    const detail = `${definition.name} has no filter field ${shown(name)}.`;
    return refuseName("unknown_field", joinPointer(pointer, name), { given: name, allowed, detail });
  }
  const at = joinPointer(pointer, name);
  const condition = value[name];
  if (!isObject(condition)) return parseShorthand(field, condition, at);
  const clauses: SearchClause[] = [];
  for (const operator of Object.keys(condition)) {
    const parsed = parseCondition(
      field,
      { operator, operand: condition[operator] },
      joinPointer(at, operator),
    );
    if (!parsed.ok) return parsed;
    clauses.push(parsed.value);
  }
  return clauses.length === 0 ? invalid(at, "An operator is required.") : ok(clauses);
}

/** Reads `{f: v}` as `{f: {eq: v}}`. */
function parseShorthand(
  field: FilterField,
  operand: unknown,
  pointer: string,
): SearchResult<readonly SearchClause[]> {
  const parsed = parseCondition(field, { operator: "eq", operand }, pointer);
  return parsed.ok ? ok([parsed.value]) : parsed;
}

function parseCondition(
  field: FilterField,
  condition: { readonly operator: string; readonly operand: unknown },
  pointer: string,
): SearchResult<SearchClause> {
  const { operator, operand } = condition;
  if (!isAllowed(field, operator)) {
    const isOperator = (operators as readonly string[]).includes(operator);
    const detail = isOperator
      ? `${field.name} allows ${field.operators.join(", ")}, not ${operator}.`
      : `The operator ${shown(operator)} does not exist.`;
    if (isOperator)
      return { ...refuseSearch("operator_not_allowed", pointer, detail), allowed: field.operators };
    return refuseName("operator_not_allowed", pointer, { given: operator, allowed: field.operators, detail });
  }
  switch (operator) {
    case "near": {
      const near = parseNear(operand, pointer);
      return near.ok ? ok({ field, op: operator, ...near.value }) : near;
    }
    case "in":
    case "nin": {
      const values = parseValues(field, operand, pointer);
      return values.ok ? ok({ field, op: operator, values: values.value }) : values;
    }
    case "eq":
    case "ne": {
      const value = parseOperand(field.type, operand, pointer);
      return value.ok ? ok({ field, op: operator, value: value.value }) : value;
    }
    default: {
      const value = parseOperand(field.type, operand, pointer);
      if (!value.ok) return value;
      if (typeof value.value !== "number")
        throw new Error(`${field.name} is compared but contains no number`);
      return ok({ field, op: operator, value: value.value });
    }
  }
}

function isAllowed(field: FilterField, operator: string): operator is Operator {
  return (field.operators as readonly string[]).includes(operator);
}

function parseValues(
  field: FilterField,
  operand: unknown,
  pointer: string,
): SearchResult<readonly IndexValue[]> {
  if (!Array.isArray(operand) || operand.length === 0 || operand.length > inValuesMax) {
    return invalid(pointer, `Must be an array of 1 to ${inValuesMax} values.`);
  }
  const values: IndexValue[] = [];
  for (let index = 0; index < operand.length; index += 1) {
    const value = parseOperand(field.type, operand[index], `${pointer}/${index}`);
    if (!value.ok) return value;
    values.push(value.value);
  }
  return ok(values);
}

function invalid(pointer: string, detail: string) {
  return refuseSearch("request_invalid", pointer, detail);
}

// Operands of filter clauses: converts what a caller writes into what the index compares. Units are those of
// row-change.ts.

/** Maximum length of any string filter value (specification, «Limits»). */
export const stringOperandMax = 256;
/** Half the circumference of the earth; every place is closer than that. */
export const radiusKmMax = 20_038;

/** Reads one operand of a field; `near` has its own reader, {@link parseNear}. */
function parseOperand(type: FieldType, value: unknown, pointer: string): SearchResult<IndexValue> {
  switch (type) {
    case "boolean":
      return typeof value === "boolean" ? ok(value) : invalidOperand(pointer, "true or false");
    case "integer":
      return Number.isSafeInteger(value) ? ok(value as number) : invalidOperand(pointer, "an integer");
    case "money":
      return parseMoney(value, pointer);
    case "timestamp":
      return parseInstant(value, pointer);
    case "country":
      return typeof value === "string" && countries.codes.has(value)
        ? ok(value)
        : invalidOperand(pointer, "a country code of ISO 3166-1 alpha-2 such as US or GB");
    case "keyword":
      return isStringOperand(value)
        ? ok(value)
        : invalidOperand(pointer, `a string of 1 to ${stringOperandMax} characters`);
    case "geopoint":
      return invalidOperand(pointer, "given with near");
  }
}

/** Reads `{lat, lng, radius_km}`: coordinates in degrees, and a radius in kilometres above 0. */
function parseNear(
  value: unknown,
  pointer: string,
): SearchResult<{ readonly point: GeoPoint; readonly radiusKm: number }> {
  const meaning = `an object of exactly lat (-90 to 90), lng (-180 to 180) and radius_km (above 0, at most ${radiusKmMax})`;
  if (!isObject(value)) return invalidOperand(pointer, meaning);
  const { lat, lng, radius_km: radiusKm, ...rest } = value as Readonly<Record<string, unknown>>;
  const isPlace =
    isWithin(lat, -90, 90) && isWithin(lng, -180, 180) && isWithin(radiusKm, 0, radiusKmMax) && radiusKm > 0;
  return isPlace && Object.keys(rest).length === 0
    ? ok({ point: { lat, lng }, radiusKm })
    : invalidOperand(pointer, meaning);
}

function parseMoney(value: unknown, pointer: string): SearchResult<number> {
  if (typeof value === "number" && Number.isFinite(value)) return ok(value);
  return typeof value === "string" && isDecimal(value)
    ? ok(Number(value))
    : invalidOperand(pointer, 'a number or a decimal string such as "19.90"');
}

const date = /^\d{4}-\d{2}-\d{2}$/;

/** Reads a date-time (RFC 3339 §5.6); a date alone means its first instant in UTC. */
function parseInstant(value: unknown, pointer: string): SearchResult<number> {
  const meaning = "an ISO 8601 time such as 2026-01-31T08:00:00.000Z, or a date";
  if (typeof value !== "string") return invalidOperand(pointer, meaning);
  const ms = parseDateTime(date.test(value) ? `${value}T00:00:00Z` : value);
  return ms === null ? invalidOperand(pointer, meaning) : ok(ms);
}

function isStringOperand(value: unknown): value is string {
  if (typeof value !== "string" || value === "" || !value.isWellFormed()) return false;
  return value.length <= stringOperandMax || [...value].length <= stringOperandMax;
}

function isWithin(value: unknown, min: number, max: number): value is number {
  return typeof value === "number" && value >= min && value <= max;
}

function invalidOperand(pointer: string, meaning: string) {
  return refuseSearch("request_invalid", pointer, `Must be ${meaning}.`);
}

/** Why a search is refused (specification, «Retrieval API» and «Errors», search codes). */
export type SearchCode =
  | "request_invalid"
  | "sort_required"
  | "unknown_field"
  | "operator_not_allowed"
  | "sort_not_allowed";

export interface SearchRefusal extends Refusal<SearchCode> {
  readonly pointer: string;
  /** The nearest valid name when a name was wrong. */
  readonly suggestion?: string;
  /** All valid names when a name was wrong or missing. */
  readonly allowed?: readonly string[];
}

export type SearchResult<T> = { readonly ok: true; readonly value: T } | SearchRefusal;

export function refuseSearch(code: SearchCode, pointer: string, detail: string): SearchRefusal {
  return { ok: false, code, pointer, detail };
}

/** Refuses a name that is not one of `allowed`. `detail` is one sentence. */
export function refuseName(
  code: SearchCode,
  pointer: string,
  name: { readonly given: string; readonly allowed: readonly string[]; readonly detail: string },
): SearchRefusal {
  const nearest = nearestName(name.given, name.allowed);
  const hint = nearest === null ? "" : ` Did you mean ${nearest}?`;
  const refusal = { ok: false, code, pointer, detail: name.detail + hint, allowed: name.allowed } as const;
  return nearest === null ? refusal : { ...refusal, suggestion: nearest };
}

/** A caller's text in a form suitable for a detail message. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
}
