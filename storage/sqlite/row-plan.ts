// Plans for answering a query without a text. Each one finds candidates, checks every condition on them and keeps the
// first in the requested order; plans differ in what they read, never in what they return:
//   keys   rows that have the wanted values or are in the wanted cells, by FTS5 over keys
//   records  the rows of the records that the query names
//   range  rows of the country within a range of one number, by its index
//   walk   rows of the country in the order of the first sort key, by its index, until there are enough
//   all    every row of the country
// The cheapest plan is chosen by rough statistics (row-statistics.ts). A walk that the statistics misjudged, because the
// wanted rows are rare where it walks, is abandoned after several times the expected cost, and another plan is used.

import { type FilterField, textMatchKey } from "../../collections/definition.ts";
import { isFieldClause, type RowQuery } from "../row-index.ts";
import { countryCondition, fieldOf, keyExpressions, rangeConditions } from "./row-conditions.ts";
import { type CollectionLayout, sortIndex } from "./row-layout.ts";
import type { RowStatistics } from "./row-statistics.ts";

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

/** Whether one of the sort keys is relevance: such a query is answered by row-relevance.ts. */
export function isByRelevance(query: RowQuery): boolean {
  return query.sort.some((each) => each.field === textMatchKey);
}
