// Every limit of a search on the line and one above, and the names of each collection that a search may use.

import { describe, expect, it } from "vitest";
import { type CollectionName, collectionNames } from "../protocol/identifiers.ts";
import { collections } from "./collections.ts";
import { parseSearchRequest } from "./search-request.ts";

/** `ok`, or the code with the pointer. */
function outcome(changes: object): string {
  const body = { collection: "products", filter: { all: [{ country: "US" }] }, sort_by: "published_at:desc" };
  const result = parseSearchRequest({ ...body, ...changes });
  return result.ok ? "ok" : `${result.code} ${result.pointer}`;
}

/** A filter of the country and so many clauses more, of so many values each. */
const filterOf = (clauses: number, values = 1) => ({
  filter: {
    all: [
      { country: "US" },
      ...Array.from({ length: clauses }, () => ({ brand: { in: Array(values).fill("a") } })),
    ],
  },
});
const keywords = (count: number, length: number) => ({
  topic_keywords: Array.from({ length: count }, (_, n) => `${n}`.padEnd(length, "x")),
});
const sortOf = (...keys: readonly string[]) => ({
  q: "x",
  sort_by: keys.map((key) => `${key}:asc`).join(","),
});

describe("a limit of a search", () => {
  it.each<readonly [string, object, object, string]>([
    ["rows", { limit: 50 }, { limit: 51 }, "/limit"],
    ["no rows", { limit: 1 }, { limit: 0 }, "/limit"],
    ["characters of q", { q: "é".repeat(512) }, { q: "é".repeat(513) }, "/q"],
    ["clauses", filterOf(19), filterOf(20), "/filter/all"],
    ["values of in", filterOf(1, 10), filterOf(1, 11), "/filter/all/1/brand/in"],
    [
      "sort keys",
      sortOf("_text_match", "price_amount", "published_at"),
      sortOf("_text_match", "price_amount", "published_at", "published_at"),
      "/sort_by",
    ],
    ["topic keywords", keywords(10, 64), keywords(11, 64), "/topic_keywords"],
    ["characters of a topic keyword", keywords(1, 64), keywords(1, 65), "/topic_keywords/0"],
    ["no characters of it", { topic_keywords: ["a"] }, { topic_keywords: ["a", ""] }, "/topic_keywords/1"],
    [
      "characters of session_ref",
      { session_ref: "~".repeat(128) },
      { session_ref: "~".repeat(129) },
      "/session_ref",
    ],
    ["no characters of it", { session_ref: "!" }, { session_ref: "" }, "/session_ref"],
    [
      "characters of client_query_id",
      { client_query_id: "~".repeat(128) },
      { client_query_id: "~".repeat(129) },
      "/client_query_id",
    ],
    ["no characters of it", { client_query_id: "!" }, { client_query_id: "" }, "/client_query_id"],
  ])("is kept on the line and not beyond it: %s", (_what, within, beyond, pointer) => {
    expect([outcome(within), outcome(beyond)]).toEqual(["ok", `request_invalid ${pointer}`]);
  });
});

// Written out from the specification, not derived from the definitions: text fields, of which `query_by` may name all, and
// sort keys besides `_text_match`.
const names: Readonly<Record<CollectionName, readonly [textFields: string, sortKeys: string]>> = {
  products: ["product_name short_description tags brand", "price_amount published_at"],
  business_files: [
    "description brands_owned.name brands_sold.name markets_served",
    "year_established published_at",
  ],
  events: ["title description", "start_at end_at price_min price_max published_at"],
  jobs: ["title description", "salary_min salary_max closing_date published_at"],
  updates: ["headline body", "published_at relevant_until"],
};

describe("the text fields and sort keys", () => {
  it.each(collectionNames)(
    "of %s are exactly those that are specified, and all may be named",
    (collection) => {
      const [textFields = [], sortKeys = []] = names[collection].map((each) => each.split(" "));
      expect(collections[collection]).toMatchObject({ textFields, sortKeys });
      expect(outcome({ collection, q: "x", query_by: textFields })).toBe("ok");
      expect(outcome({ collection, q: "x", query_by: [...textFields, "country"] })).toBe(
        "request_invalid /query_by",
      );
      for (const key of ["_text_match", ...sortKeys])
        for (const direction of ["asc", "desc"])
          expect(outcome({ collection, q: "x", sort_by: `${key}:${direction}` })).toBe("ok");
    },
  );
});
