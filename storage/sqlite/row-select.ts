// The statements for the plans of row-plan.ts, and for checking rows that were found by other means.

import { type FilterField, textMatchKey } from "../../collections/definition.ts";
import type { RowQuery } from "../row-index.ts";
import {
  clauseConditions,
  columnRef,
  countryCondition,
  fieldOf,
  rangeConditions,
  recordCondition,
  type Sql,
  textConditions,
} from "./row-conditions.ts";
import { type CollectionLayout, sortIndex } from "./row-layout.ts";
import type { Plan } from "./row-plan.ts";

/** The first part of a walk: up to and including this value in its order; null for all rows that have a value. */
export interface WalkBound {
  readonly until: number | null;
}

/** The statement of a plan, for a query without text: columns record_id, business_uuid, row, in order. */
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
    text: `SELECT e.record_id, e.business_uuid, e.row FROM (SELECT ${outputs.join(", ")} FROM ${from} WHERE ${where} ORDER BY ${inner.join(", ")} LIMIT ?) h CROSS JOIN row_entry e ON e.rid = h.rid ORDER BY ${outer.join(", ")}`,
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
