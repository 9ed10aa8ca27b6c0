// Searches for sponsored rows on a running node. For tests.

import { type ReceivedAnswer, send, type TestCaller } from "../../api/surfaces.fixture.ts";
import type { StartedNode } from "../retrieval/attack.fixture.ts";

export interface FoundRow {
  readonly record_id: string;
  readonly product_name: string;
  readonly sponsored?: true;
}

export interface FoundRows extends ReceivedAnswer {
  readonly rows: readonly FoundRow[];
  readonly retrievalId: string;
}

/** How a search differs from the usual one; `sponsored` and `brand` are filters. */
export interface SearchChanges {
  readonly path?: string;
  readonly country?: string;
  readonly sponsored?: boolean;
  readonly brand?: string;
  readonly [member: string]: unknown;
}

/** Searches for quartzite, cheapest first; the text of each answer is kept. */
export function searcherOf(
  node: StartedNode,
  answered: string[],
): (caller: TestCaller, changes?: SearchChanges) => Promise<FoundRows> {
  return async (caller, changes = {}) => {
    const { path = "/v1/products/search", country = "US", sponsored, brand, ...members } = changes;
    const all = [
      { country },
      ...(sponsored === undefined ? [] : [{ sponsored }]),
      ...(brand ? [{ brand }] : []),
    ];
    const sort_by = path === "/v1/products/search" ? "price_amount:asc" : "published_at:desc";
    const request = { q: "quartzite", sort_by, filter: { all }, ...members };
    const created = Math.floor(node.running.services.clock.now() / 1000);
    const answer = await send(node.running.urls.base_url, caller, {
      path,
      body: JSON.stringify(request),
      created,
    });
    answered.push(answer.text);
    return {
      ...answer,
      rows: (answer.json["rows"] ?? []) as readonly FoundRow[],
      retrievalId: String(answer.json["retrieval_id"]),
    };
  };
}

/** Changes of a sponsored product that are refused, with the reason. */
export const wrongProducts: readonly (readonly [string, object, string])[] = [
  ["an unknown member", { colour: "red" }, "product_invalid"],
  ["no campaign", { campaign_id: undefined }, "product_invalid"],
  ["a campaign that is not known", { campaign_id: "winter" }, "campaign_unknown"],
  ["no country", { countries: [] }, "product_invalid"],
  ["a country that there is not", { countries: ["ZZ"] }, "product_invalid"],
  ["a country twice", { countries: ["US", "CA", "US"] }, "product_invalid"],
  ["the id of an ad", { record_id: `ad_${"a".repeat(26)}` }, "product_invalid"],
];
