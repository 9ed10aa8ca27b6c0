// What a search or a fetch costs of its key's budget, determined by the request alone, before anything is queried.
// Published in docs/choices.md.

import { clausesMax } from "../collections/parse-filter.ts";
import { type SearchRequest, searchLimits } from "../collections/search-request.ts";

const rowsPerUnit = 10;
const clausesPerUnit = 5;

export const fetchCost = 1;
/** A pool of ads has up to 20 of them, each with all that it needs to be verified. */
export const poolCost = 3;

/**
 * The sum of 1, 1 for each ten rows requested (rounded up), 1 for a `q`, and 1 for each five clauses besides the country
 * (rounded up).
 */
export function searchCost(request: Pick<SearchRequest, "limit" | "clauses" | "text">): number {
  return costOf(request.limit, request.clauses.length) + (request.text === undefined ? 0 : 1);
}

/** The cost of the most expensive request. */
export const queryCostMax = costOf(searchLimits.rowsMax, clausesMax - 1) + 1;

function costOf(rows: number, clauses: number): number {
  return 1 + Math.ceil(rows / rowsPerUnit) + Math.ceil(clauses / clausesPerUnit);
}
