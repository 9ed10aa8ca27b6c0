// What the benchmark publishes and asks for: products, which are stones of the sandbox's sample, varied so that no two are alike,
// and searches over them, of three kinds, no two alike. The same number always gives the same product and the same search.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSearchRequest, toRowQuery } from "../collections/search-request.ts";
import { stoneShop } from "../node/sandbox/businesses.ts";
import { diamondProduct, parseStones, type Stone } from "../node/sandbox/diamonds.ts";
import { canonicalBytes, type JsonValue } from "../protocol/json/canonical-json.ts";
import type { RowQuery } from "../storage/row-index.ts";
import type { RequestPlan } from "./requests.ts";

const slice = join(import.meta.dirname, "../node/sandbox/data/diamonds-slice.csv");
let stones: readonly Stone[] | null = null;
/** Distinct from the sample's own numbers. */
const shop = { ...stoneShop, idPrefix: "LB-" };

export function sampleStones(): readonly Stone[] {
  stones ??= parseStones(readFileSync(slice, "utf8"));
  return stones;
}

export function productBytes(index: number): Uint8Array {
  const stone = pick(sampleStones(), index);
  const round = Math.floor(index / sampleStones().length);
  const carat = (Number(stone.carat) + (round % 40) / 100).toFixed(2);
  const price = String(Number(stone.price) + ((round * 37) % 4_001));
  return canonicalBytes(diamondProduct({ ...stone, carat, price }, index, shop));
}

export function productId(index: number): string {
  return `${shop.idPrefix}${String(index + 1).padStart(6, "0")}`;
}

export type QueryBody = Readonly<Record<string, JsonValue>>;

export interface QueryKind {
  readonly name: string;
  readonly body: (index: number) => QueryBody;
}

const cuts = ["ideal", "premium", "very good", "good"];
const colours = ["D", "E", "F", "G", "H", "I", "J"];
const clarities = ["SI1", "VS2", "SI2", "VS1", "VVS2"];
const countries = ["US", "GB", "CA"];

/** A country, and a price from 300 to 799 that no other query of the same kind names. */
function cheapIn(index: number): readonly [QueryBody, QueryBody] {
  const gte = Math.round((300 + (index % 500) + Math.floor(index / 500) / 100) * 100) / 100;
  return [{ country: pick(countries, index) }, { price_amount: { gte } }];
}

function kindOf(name: string, sort_by: string, partsOf: (index: number) => QueryBody): QueryKind {
  const body: QueryKind["body"] = (index) => ({
    collection: "products",
    filter: { all: cheapIn(index) },
    sort_by,
    ...partsOf(index),
  });
  return { name, body };
}

export const queryKinds: readonly QueryKind[] = [
  kindOf("text, filter and price order", "price_amount:asc", (index) => ({
    q: `${pick(cuts, index)} diamond ${pick(colours, index)}`,
    query_by: ["product_name", "short_description"],
  })),
  kindOf("filters only", "price_amount:asc", (index) => {
    const [country, price] = cheapIn(index);
    const tags = `clarity ${pick(clarities, index)}`;
    return { filter: { all: [country, { tags }, { availability: "in_stock" }, price] } };
  }),
  kindOf("text by relevance", "_text_match:desc", (index) => ({
    q: `${pick(cuts, index)} ${pick(clarities, index)} ${pick(colours, index)}`,
    query_by: ["product_name", "tags"],
  })),
];

export function searchPlan(body: QueryBody): RequestPlan {
  return {
    method: "POST",
    path: "/v1/search",
    tag: "svc-retrieval",
    body: Buffer.from(JSON.stringify(body)),
  };
}

/** A search as an index is asked for it. */
export function rowQueryOf(body: JsonValue): RowQuery {
  const request = parseSearchRequest(body, null);
  if (!request.ok) throw new Error(`${request.code} ${request.detail}`);
  return toRowQuery(request.value);
}

export function fetchPlan(recordId: string): RequestPlan {
  return { method: "GET", path: `/v1/records/${recordId}`, tag: "svc-retrieval" };
}

/** Searches of the kinds in turn, of which no two are alike, whatever they find: each call returns the next ones. */
export function newSearches(): (count: number) => readonly RequestPlan[] {
  let made = 0;
  const next = (): RequestPlan => {
    const at = made;
    made += 1;
    return searchPlan(pick(queryKinds, at).body(Math.floor(at / queryKinds.length)));
  };
  return (count) => Array.from({ length: count }, next);
}

/** Rows of a full page. */
export const rowsWanted = 50;
/** Maximum number of candidates tried for each query wanted of a kind. */
const triesMax = 4;

export interface PlannedQuery<Found> {
  /** Index in {@link queryKinds}. */
  readonly kind: number;
  readonly body: QueryBody;
  readonly plan: RequestPlan;
  readonly found: Found;
}

/** Distinct queries that each return a full page, alternating between the kinds. `ask` says what bodies find. */
export async function planQueries<Found extends { readonly rows: number }>(
  count: number,
  ask: (bodies: readonly QueryBody[]) => Promise<readonly Found[]>,
): Promise<readonly PlannedQuery<Found>[]> {
  const each = Math.ceil(count / queryKinds.length);
  const ofKind = await Array.fromAsync(queryKinds.entries(), async ([kind, { name, body: bodyOf }]) => {
    const queries: PlannedQuery<Found>[] = [];
    for (let first = 0; queries.length < each && first < each * triesMax; first += each) {
      const bodies = Array.from({ length: each }, (_, index) => bodyOf(first + index));
      for (const [at, found] of (await ask(bodies)).entries()) {
        const body = pick(bodies, at);
        if (found.rows === rowsWanted) queries.push({ kind, body, plan: searchPlan(body), found });
      }
    }
    if (queries.length >= each) return queries;
    throw new Error(`${name}: only ${queries.length} of ${each} queries answer ${rowsWanted} rows`);
  });
  return Array.from({ length: count }, (_, at) => {
    const queries = pick(ofKind, at);
    return pick(queries, Math.floor(at / ofKind.length));
  });
}

function pick<T>(list: readonly T[], index: number): T {
  const item = list[index % list.length];
  if (item === undefined) throw new Error("there is nothing to pick from");
  return item;
}
