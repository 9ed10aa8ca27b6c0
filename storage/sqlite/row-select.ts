// The statements for plans, and for checking rows that were found by other means.

import { collections } from "../../collections/collections.ts";
import { type FilterField, fieldByName, textMatchKey } from "../../collections/definition.ts";
import { wordTerms } from "../../collections/text-analysis.ts";
import { type FieldClause, isFieldClause, type RowClause, type RowQuery } from "../row-index.ts";
import { type CollectionLayout, encodedValue, sortIndex } from "./row-layout.ts";
import { type Bindable, bindable, circleKeys, type RowStatistics, valueKey } from "./row-writer.ts";

/** The first part of a walk: up to and including this value in its order; null for all rows that have a value. */
export interface WalkBound {
  readonly until: number | null;
}

/** The statement of a plan, for a query without text: columns record_id, business_uuid, generation, row, in order. */
export function selectSql(
  layout: CollectionLayout,
  query: RowQuery,
  plan: Plan,
  bound: WalkBound | null = null,
): Sql {
  const sorts = query.sort.map((each) => ({
    column: columnRef(layout, fieldOf(layout, each.field, query.country)),
    order: orderOf(each),
  }));
  const lead = leadOf(layout, query, plan);
  const extra = bound === null ? [] : [boundCondition(query, sorts[0]?.column ?? "", bound)];
  const { from, where, params } = joined(layout, query, {
    lead,
    rest: extra,
    columns: sorts.map((each) => each.column),
  });
  const outputs = [
    "r.rid AS rid",
    "r.record_id AS record_id",
    ...sorts.map((each, index) => `${each.column} AS s${index}`),
  ];
  const inner = [...sorts.map((each) => each.column + each.order), "r.record_id"];
  const outer = [...sorts.map((each, index) => `h.s${index}${each.order}`), "h.record_id"];
  return {
    text: `SELECT e.record_id, e.business_uuid, e.generation, e.row FROM (SELECT ${outputs.join(", ")} FROM ${from} WHERE ${where} ORDER BY ${inner.join(", ")} LIMIT ?) h CROSS JOIN row_entry e ON e.rid = h.rid ORDER BY ${outer.join(", ")}`,
    params: [...params, query.limit],
  };
}

/**
 * Selects which rows of a JSON array of row numbers, the first parameter, the query wants: columns place (in the array),
 * record_id and, for each sort key i other than relevance, s<i>. In no particular order.
 */
export function checkSql(layout: CollectionLayout, query: RowQuery): Sql {
  const columns = query.sort.map(({ field }) =>
    field === textMatchKey ? null : columnRef(layout, fieldOf(layout, field, query.country)),
  );
  const lead: Lead = { table: "json_each(?) j", rid: "j.value", conditions: [], isListing: false };
  const rest = textConditions(layout, query);
  const { from, where, params } = joined(layout, query, {
    lead,
    rest,
    columns: columns.filter((each) => each !== null),
  });
  const outputs = columns.flatMap((column, index) => (column === null ? [] : [`${column} AS s${index}`]));
  return {
    text: `SELECT ${["j.key AS place", "r.record_id AS record_id", ...outputs].join(", ")} FROM ${from} WHERE ${where}`,
    params,
  };
}

/**
 * Selects a part of a walk: columns rid and value, in the order of the query's first sort key; the last parameters are the
 * number of rows and the offset.
 */
export function walkSql(layout: CollectionLayout, query: RowQuery, field: FilterField): Sql {
  const column = columnRef(layout, field);
  const conditions = [countryCondition(query), ...rangeConditions(layout, query, field)];
  const order = query.sort[0] === undefined ? "" : orderOf(query.sort[0]);
  return {
    text: `SELECT l.rid AS rid, ${column} AS value FROM ${layout.listing} l INDEXED BY ${sortIndex(layout, field)} WHERE ${whereOf(conditions)} ORDER BY ${column}${order} LIMIT ? OFFSET ?`,
    params: conditions.flatMap((each) => each.params),
  };
}

/** Missing values sort last in both directions, although SQLite considers them the smallest. */
function orderOf({ direction }: RowQuery["sort"][number]): string {
  return direction === "desc" ? " DESC" : " ASC NULLS LAST";
}

function boundCondition(query: RowQuery, column: string, bound: WalkBound): Sql {
  if (bound.until === null) return { text: `${column} IS NOT NULL`, params: [] };
  return { text: `${column} ${query.sort[0]?.direction === "desc" ? ">=" : "<="} ?`, params: [bound.until] };
}

/** The table in which candidates are found, and how. */
interface Lead {
  readonly table: string;
  readonly rid: string;
  readonly conditions: readonly Sql[];
  readonly isListing: boolean;
}

function leadOf(layout: CollectionLayout, query: RowQuery, plan: Plan): Lead {
  switch (plan.way) {
    case "keys": {
      const conditions = [{ text: `${layout.key} MATCH ?`, params: [plan.expression] }];
      return { table: layout.key, rid: `${layout.key}.rowid`, conditions, isListing: false };
    }
    case "records": {
      const conditions = [recordCondition({ op: "among", records: plan.records }, "o.record_id")];
      return { table: "row_entry o", rid: "o.rid", conditions, isListing: false };
    }
    case "range":
    case "walk": {
      const table = `${layout.listing} l INDEXED BY ${sortIndex(layout, plan.field)}`;
      return { table, rid: "l.rid", conditions: [countryCondition(query)], isListing: true };
    }
    case "all":
      return {
        table: `${layout.listing} l`,
        rid: "l.rid",
        conditions: [countryCondition(query)],
        isListing: true,
      };
  }
}

/** Joins the lead with the other tables that are needed, ordered by how cheaply each can reject a row. */
function joined(
  layout: CollectionLayout,
  query: RowQuery,
  parts: { readonly lead: Lead; readonly rest: readonly Sql[]; readonly columns: readonly string[] },
): { readonly from: string; readonly where: string; readonly params: Sql["params"] } {
  const { lead, rest, columns } = parts;
  const conditions = [...lead.conditions, ...clauseConditions(layout, query), ...rest];
  const expressions = [...conditions.map((each) => each.text), ...columns];
  const joins = [lead.table];
  if (expressions.some((each) => each.includes("w.t")))
    joins.push(`${layout.words} w ON w.rid = ${lead.rid}`);
  joins.push(`${layout.row} r ON r.rid = ${lead.rid}`);
  if (!lead.isListing) {
    // A column of the listing is written `l."name"`. If none is used, the row itself says where it is published.
    const needsListing = expressions.some((each) => each.includes('l."'));
    if (needsListing) joins.push(`${layout.listing} l ON l.rid = ${lead.rid}`);
    const published = { text: "instr(r.countries, ?) > 0", params: [` ${query.country} `] };
    conditions.push(needsListing ? countryCondition(query) : published);
  }
  return {
    from: joins.join(" CROSS JOIN "),
    where: whereOf(conditions),
    params: conditions.flatMap((each) => each.params),
  };
}

function whereOf(conditions: readonly Sql[]): string {
  return conditions.map((each) => each.text).join(" AND ");
}

// Plans for answering a query without a text. Each one finds candidates, checks every condition on them and keeps the
// first in the requested order; plans differ in what they read, never in what they return:
//   keys   rows that have the wanted values or are in the wanted cells, by FTS5 over keys
//   records  the rows of the records that the query names
//   range  rows of the country within a range of one number, by its index
//   walk   rows of the country in the order of the first sort key, by its index, until there are enough
//   all    every row of the country
// The cheapest plan is chosen by rough statistics (row-writer.ts). A walk that the statistics misjudged, because the
// wanted rows are rare where it walks, is abandoned after several times the expected cost, and another plan is used.

export type Plan =
  | { readonly way: "keys"; readonly expression: string; readonly rows: number }
  | RecordsPlan
  | { readonly way: "range"; readonly field: FilterField; readonly rows: number }
  | { readonly way: "walk"; readonly field: FilterField; readonly rows: number }
  | { readonly way: "all"; readonly rows: number };

/** Share of rows assumed to meet a condition for which there are no statistics. */
const shareUnknown = 0.4;
/** Ranges that contain more rows than this are not used as a starting point. */
const rangeRowsMax = 2_000;
/** Factor by which reading a candidate through FTS5 costs more than reading it in the order of an index. */
const scatterFactor = 1.3;

/** Plans that can answer a query without a text, cheapest first. */
export function planQuery(
  layout: CollectionLayout,
  query: RowQuery,
  statistics: RowStatistics,
): readonly Plan[] {
  const keys = keysPlan(layout, query, statistics);
  const records = recordsPlan(query);
  const found = [keys, records].filter((plan) => plan !== null);
  const share = matchedByAll(
    found.map(({ rows }) => rows / Math.max(1, statistics.rows(layout))),
    1,
  );
  const walk = walkPlan(layout, query, { share, listings: statistics.listings(layout, query.country) });
  return [...found, walk].sort((a, b) => costOf(a) - costOf(b));
}

export type RecordsPlan = {
  readonly way: "records";
  readonly records: readonly string[];
  readonly rows: number;
};

/** Null for a query that does not name records; of several clauses that do, the shortest one finds the candidates. */
export function recordsPlan(query: RowQuery): RecordsPlan | null {
  const named = query.clauses.flatMap((clause) => (clause.op === "among" ? [clause.records] : []));
  const [records] = named.sort((a, b) => a.length - b.length);
  return records === undefined ? null : { way: "records", records, rows: records.length };
}

export type WalkPlan = Extract<Plan, { readonly way: "walk" }>;
export type KeysPlan = { readonly way: "keys"; readonly expression: string; readonly rows: number };

/** Null for a query without a clause that keys can answer. */
export function keysPlan(
  layout: CollectionLayout,
  query: RowQuery,
  statistics: RowStatistics,
): KeysPlan | null {
  const expressions = keyExpressions(layout, query);
  if (expressions.length === 0) return null;
  const counts = expressions.map((expression) => statistics.withKeys(layout, expression));
  return {
    way: "keys",
    expression: expressions.join(" AND "),
    rows: matchedByAll(counts, Math.max(1, statistics.rows(layout))),
  };
}

/** `share` is the estimated fraction of all rows that have the wanted keys. */
function walkPlan(
  layout: CollectionLayout,
  query: RowQuery,
  figures: { readonly share: number; readonly listings: number },
): Plan {
  const first = query.sort[0];
  if (first === undefined) return { way: "all", rows: figures.listings };
  const field = fieldOf(layout, first.field, query.country);
  const unknown = query.clauses.filter(isFieldClause).filter((clause) => {
    const other = fieldOf(layout, clause.field, query.country);
    return other !== field && !layout.keyMarks.has(other.name);
  });
  const share = figures.share * shareUnknown ** unknown.length;
  return { way: "walk", field, rows: Math.min(figures.listings, query.limit / Math.max(share, 1e-9)) };
}

/**
 * Further plans, in addition to those of {@link planQuery}, for a query whose walk was abandoned: narrow ranges of other
 * numbers.
 */
export function rangePlans(
  layout: CollectionLayout,
  query: RowQuery,
  statistics: RowStatistics,
): readonly Plan[] {
  const fields = new Set(
    query.clauses.filter(isFieldClause).map((clause) => fieldOf(layout, clause.field, query.country)),
  );
  const first = query.sort[0] === undefined ? null : fieldOf(layout, query.sort[0].field, query.country);
  const plans: Plan[] = [];
  for (const field of fields) {
    const ranges = rangeConditions(layout, query, field);
    if (field === first || ranges.length === 0) continue;
    const conditions = [countryCondition(query), ...ranges];
    const rows = statistics.withinRange(
      {
        from: `${layout.listing} l INDEXED BY ${sortIndex(layout, field)}`,
        where: conditions.map((each) => each.text).join(" AND "),
        params: conditions.flatMap((each) => each.params),
      },
      rangeRowsMax,
    );
    if (rows < rangeRowsMax) plans.push({ way: "range", field, rows });
  }
  return plans;
}

/** Estimated number of rows that meet several conditions, assuming that the conditions are independent. */
function matchedByAll(counts: readonly number[], rows: number): number {
  return counts.reduce((matched, count) => matched * Math.min(1, count / rows), rows);
}

function costOf(plan: Plan): number {
  return plan.way === "walk" ? plan.rows : plan.rows * scatterFactor;
}

/** Whether one of the sort keys is relevance: such a query is answered by row-text-search.ts. */
export function isByRelevance(query: RowQuery): boolean {
  return query.sort.some((each) => each.field === textMatchKey);
}

// The conditions of a query as SQL over one row `r`, its words `w` and its listing `l` in the query's country. Every way
// of finding candidates checks all of them, so a row is correct however it was found.

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

function columnRef(layout: CollectionLayout, field: FilterField): string {
  const listed = layout.listingColumns.find((each) => each.field === field);
  return listed === undefined ? `r."${field.name}"` : `l.${listed.column}`;
}

/** All filter clauses and exclusions, without text conditions. */
function clauseConditions(layout: CollectionLayout, query: RowQuery): readonly Sql[] {
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
function recordCondition({ op, records }: Exclude<RowClause, FieldClause>, column: string): Sql {
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

function countryCondition(query: RowQuery): Sql {
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
function textConditions(layout: CollectionLayout, query: RowQuery): readonly Sql[] {
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
