// The filter of a search: `{all: [clause, …]}` (specification, «Retrieval API», search).

import { ok } from "../protocol/result.ts";
import { notAnObject } from "../protocol/shape.ts";
import { isObject } from "../std/is-object.ts";
import { joinPointer } from "../std/json-pointer.ts";
import type { GeoPoint, IndexValue } from "../storage/row-index.ts";
import {
  type CollectionDefinition,
  type FilterField,
  fieldByName,
  type Operator,
  operators,
} from "./definition.ts";
import { parseNear, parseOperand } from "./operand.ts";
import { refuseName, refuseSearch, type SearchResult, shown } from "./search-refusal.ts";

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
