// The statements of the ways that row-plan.ts chooses from.

import { textMatchKey } from "../../collections/definition.ts";
import type { RowQuery } from "../row-index.ts";
import {
  clauseConditions,
  columnRef,
  countryCondition,
  fieldOf,
  rangeConditions,
  type Sql,
  textConditions,
} from "./row-conditions.ts";
import { type CollectionLayout, sortIndex } from "./row-layout.ts";
import type { Plan } from "./row-plan.ts";

/** The first part of a walk: up to and with this value in its order; null for all rows that have a value. */
export interface WalkBound {
  readonly until: number | null;
}

/** The statement of a plan: columns record_id, business_uuid, row, in order. */
export function selectSql(
  layout: CollectionLayout,
  query: RowQuery,
  plan: Plan,
  bound: WalkBound | null = null,
): Sql {
  const sorts = query.sort.map((each, index) => ({
    name: `s${index}`,
    expression:
      each.field === textMatchKey
        ? `bm25(${layout.text})`
        : columnRef(layout, fieldOf(layout, each.field, query.country)),
    order: orderOf(each),
  }));
  const lead = leadOf(layout, query, plan);
  const texts = plan.way === "text" ? [] : textConditions(layout, query);
  const conditions = [
    ...lead.conditions,
    ...(bound === null ? [] : [boundCondition(query, sorts[0]?.expression ?? "", bound)]),
    ...clauseConditions(layout, query),
    ...texts,
  ];
  const joins = [lead.table];
  if (texts.length > 0) joins.push(`${layout.words} w ON w.rid = ${lead.rid}`);
  joins.push(`${layout.row} r ON r.rid = ${lead.rid}`);
  if (!lead.isListing) {
    // A column of the listing is written `l."name"`. Where none is wanted, the row itself says where it is published.
    const needsListing = [
      ...conditions.map((each) => each.text),
      ...sorts.map((each) => each.expression),
    ].some((each) => each.includes('l."'));
    if (needsListing) joins.push(`${layout.listing} l ON l.rid = ${lead.rid}`);
    const published = { text: "instr(r.countries, ?) > 0", params: [` ${query.country} `] };
    conditions.push(needsListing ? countryCondition(query) : published);
  }
  const outputs = [
    "r.rid AS rid",
    "r.record_id AS record_id",
    ...sorts.map((each) => `${each.expression} AS ${each.name}`),
  ];
  const inner = [...sorts.map((each) => each.expression + each.order), "r.record_id"];
  const outer = [...sorts.map((each) => `h.${each.name}${each.order}`), "h.record_id"];
  return {
    text: `SELECT e.record_id, e.business_uuid, e.row FROM (SELECT ${outputs.join(", ")} FROM ${joins.join(" CROSS JOIN ")} WHERE ${conditions.map((each) => each.text).join(" AND ")} ORDER BY ${inner.join(", ")} LIMIT ?) h CROSS JOIN row_entry e ON e.rid = h.rid ORDER BY ${outer.join(", ")}`,
    params: [...conditions.flatMap((each) => each.params), query.limit],
  };
}

/** The value at which a walk has read `rows` rows; no row when the walk ends earlier. */
export function walkBoundSql(
  layout: CollectionLayout,
  query: RowQuery,
  plan: Extract<Plan, { way: "walk" }>,
): Sql {
  const column = columnRef(layout, plan.field);
  const conditions = [countryCondition(query), ...rangeConditions(layout, query, plan.field)];
  const order = query.sort[0] === undefined ? "" : orderOf(query.sort[0]);
  return {
    text: `SELECT ${column} AS until FROM ${layout.listing} l INDEXED BY ${sortIndex(layout, plan.field)} WHERE ${conditions.map((each) => each.text).join(" AND ")} ORDER BY ${column}${order} LIMIT 1 OFFSET ?`,
    params: conditions.flatMap((each) => each.params),
  };
}

/** Missing values last in both directions; SQLite takes them for the least. FTS5's bm25 is the less the better. */
function orderOf({ field, direction }: RowQuery["sort"][number]): string {
  if (field === textMatchKey) return direction === "desc" ? " ASC" : " DESC";
  return direction === "desc" ? " DESC" : " ASC NULLS LAST";
}

function boundCondition(query: RowQuery, column: string, bound: WalkBound): Sql {
  if (bound.until === null) return { text: `${column} IS NOT NULL`, params: [] };
  return { text: `${column} ${query.sort[0]?.direction === "desc" ? ">=" : "<="} ?`, params: [bound.until] };
}

/** The table that candidates are found in, and how. */
interface Lead {
  readonly table: string;
  readonly rid: string;
  readonly conditions: readonly Sql[];
  readonly isListing: boolean;
}

function leadOf(layout: CollectionLayout, query: RowQuery, plan: Plan): Lead {
  switch (plan.way) {
    case "text":
    case "keys": {
      const table = plan.way === "text" ? layout.text : layout.key;
      const conditions: Sql[] = [{ text: `${table} MATCH ?`, params: [plan.expression] }];
      if (plan.way === "text" && plan.within !== null) {
        // The sign keeps SQLite from asking FTS5 once for each of these rows.
        const among = `SELECT rowid FROM ${layout.key} WHERE ${layout.key} MATCH ?`;
        conditions.push({ text: `+${table}.rowid IN (${among})`, params: [plan.within] });
      }
      return { table, rid: `${table}.rowid`, conditions, isListing: false };
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
