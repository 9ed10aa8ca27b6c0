// The conditions of a query as SQL over one row `r`, its words `w` and its listing `l` in the query's country. Every way
// of finding candidates (row-plan.ts) checks all of them, so a row is correct however it was found.

import { collections } from "../../collections/collections.ts";
import type { FilterField } from "../../collections/definition.ts";
import { fieldByName } from "../../collections/definition.ts";
import { wordTerms } from "../../collections/relevance.ts";
import { type FieldClause, isFieldClause, type RowClause, type RowQuery } from "../row-index.ts";
import { circleKeys, valueKey } from "./row-keys.ts";
import { type CollectionLayout, encodedValue } from "./row-layout.ts";
import { type Bindable, bindable } from "./row-writer.ts";

/** SQL text with its parameters in order. */
export interface Sql {
  readonly text: string;
  readonly params: readonly Bindable[];
}

/** Name of the SQL function that measures distances, see row-index.ts. */
export const nearFunction = "svc_near";

/**
 * The field definition behind an index field, for example `price_US` for the country US. Throws for an unknown field,
 * which is a bug.
 */
export function fieldOf(layout: CollectionLayout, name: string, country: string): FilterField {
  const definition = collections[layout.collection];
  const plain = fieldByName(definition, name);
  if (plain !== null && plain.countryStem === null) return plain;
  const own = definition.fields.find(
    (field) => field.countryStem !== null && name === `${field.countryStem}${country}`,
  );
  if (own === undefined) throw new Error(`${layout.collection} has no index field ${name} in ${country}`);
  return own;
}

/** The column of a field, in the table that contains it. */
export function columnRef(layout: CollectionLayout, field: FilterField): string {
  const listed = layout.listingColumns.find((each) => each.field === field);
  return listed === undefined ? `r."${field.name}"` : `l.${listed.column}`;
}

/** All filter clauses and exclusions, without text conditions. */
export function clauseConditions(layout: CollectionLayout, query: RowQuery): readonly Sql[] {
  const conditions: Sql[] = [];
  const dear: Sql[] = [];
  for (const clause of query.clauses) {
    if (!isFieldClause(clause)) {
      conditions.push(recordCondition(clause, "r.record_id"));
      continue;
    }
    const field = fieldOf(layout, clause.field, query.country);
    const condition = clauseCondition(clause, field, columnRef(layout, field));
    // Distances are computed last, once all other conditions hold.
    (clause.op === "near" ? dear : conditions).push(condition);
  }
  if (query.excludeBusinesses.length > 0) {
    const list = JSON.stringify(query.excludeBusinesses);
    conditions.push({ text: "r.business_uuid NOT IN (SELECT value FROM json_each(?))", params: [list] });
  }
  return [...conditions, ...dear];
}

/** Which record the row is of. */
export function recordCondition({ op, records }: Exclude<RowClause, FieldClause>, column: string): Sql {
  const not = op === "among" ? "" : "NOT ";
  return { text: `${column} ${not}IN (SELECT value FROM json_each(?))`, params: [JSON.stringify(records)] };
}

function clauseCondition(clause: FieldClause, field: FilterField, column: string): Sql {
  switch (clause.op) {
    case "eq":
      return field.multiple
        ? { text: `instr(${column}, ?) > 0`, params: [encodedValue(String(clause.value))] }
        : { text: `${column} = ?`, params: [bindable(clause.value)] };
    case "ne":
      return field.multiple
        ? { text: `ifnull(instr(${column}, ?), 0) = 0`, params: [encodedValue(String(clause.value))] }
        : { text: `${column} IS NOT ?`, params: [bindable(clause.value)] };
    case "in":
    case "nin":
      return setCondition(clause, field, column);
    case "near": {
      const { lat, lng } = clause.point;
      return { text: `${nearFunction}(${column}, ?, ?, ?)`, params: [lat, lng, clause.radiusKm] };
    }
    default: {
      const sign = { lt: "<", lte: "<=", gt: ">", gte: ">=" }[clause.op];
      return { text: `${column} ${sign} ?`, params: [clause.value] };
    }
  }
}

function setCondition(
  clause: Extract<FieldClause, { readonly op: "in" | "nin" }>,
  field: FilterField,
  column: string,
): Sql {
  if (field.multiple) {
    const params = clause.values.map((value) => encodedValue(String(value)));
    const any = `(${params.map(() => `instr(${column}, ?) > 0`).join(" OR ")})`;
    return clause.op === "in" ? { text: any, params } : { text: `ifnull(${any}, 0) = 0`, params };
  }
  const params = clause.values.map(bindable);
  const list = params.map(() => "?").join(", ");
  return clause.op === "in"
    ? { text: `${column} IN (${list})`, params }
    : { text: `(${column} IS NULL OR ${column} NOT IN (${list}))`, params };
}

/** Restricts to rows published for the query's country. */
export function countryCondition(query: RowQuery): Sql {
  return { text: "l.country = ?", params: [query.country] };
}

type RangeClause = Extract<FieldClause, { readonly op: "eq" | "lt" | "lte" | "gt" | "gte" }>;

/** The conditions on one number that its index can answer; none for a field without an index. */
export function rangeConditions(
  layout: CollectionLayout,
  query: RowQuery,
  field: FilterField,
): readonly Sql[] {
  if (!collections[layout.collection].sortKeys.includes(field.name)) return [];
  const signs = { eq: "=", lt: "<", lte: "<=", gt: ">", gte: ">=" } as const;
  const column = columnRef(layout, field);
  return query.clauses
    .filter(
      (clause): clause is RangeClause =>
        clause.op in signs && isFieldClause(clause) && fieldOf(layout, clause.field, query.country) === field,
    )
    .map(({ op, value }) => ({ text: `${column} ${signs[op]} ?`, params: [bindable(value)] }));
}

/** Every word has one of its terms in one of the searched fields. */
export function textConditions(layout: CollectionLayout, query: RowQuery): readonly Sql[] {
  if (query.text === undefined) return [];
  const columns = query.text.fields.map((name) => `w.t${textColumn(layout, name)}`);
  return query.text.words.map((word) => {
    const terms = wordTerms(word);
    // Column by column: the first ones are the shortest texts, and have most words in one form or another.
    const looks = columns.flatMap((column) => terms.map(() => `instr(${column}, ?) > 0`));
    return {
      text: `(${looks.join(" OR ")})`,
      params: columns.flatMap(() => terms.map(({ term }) => ` ${term} `)),
    };
  });
}

function textColumn(layout: CollectionLayout, name: string): number {
  const index = layout.textFields.indexOf(name);
  if (index < 0) throw new Error(`${layout.collection} has no text field ${name}`);
  return index;
}

/**
 * FTS5 expressions over keys, one for each clause that keys can answer: together they find all rows that satisfy the
 * clauses, and possibly others.
 */
export function keyExpressions(layout: CollectionLayout, query: RowQuery): readonly string[] {
  const expressions: string[] = [];
  for (const clause of query.clauses.filter(isFieldClause)) {
    const field = fieldOf(layout, clause.field, query.country);
    const mark = layout.keyMarks.get(field.name);
    const keys = mark === undefined ? null : keysOfClause(clause, mark);
    if (keys !== null) expressions.push(`(${keys.map((key) => `"${key}"`).join(" OR ")})`);
  }
  return expressions;
}

function keysOfClause(clause: FieldClause, mark: string): readonly string[] | null {
  if (clause.op === "eq") return [valueKey(mark, String(clause.value))];
  if (clause.op === "in") return clause.values.map((value) => valueKey(mark, String(value)));
  return clause.op === "near" ? circleKeys(mark, clause) : null;
}
