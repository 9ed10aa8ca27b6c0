// What an index finds besides the words as they are written: singular and plural, and misspellings (X8), and how it ranks
// them. Part of row-index.conformance.ts.

import { expect, it } from "vitest";
import { textMatchKey } from "../collections/definition.ts";
import { queryWords, spellingsMax, spellingsOf } from "../collections/text-analysis.ts";
import { withMembers } from "./row-index.fixture.ts";
import type { RowChange, RowIndex, RowQuery } from "./row-index.ts";

interface Suite {
  readonly withIndex: (open: Suite["open"], run: (index: RowIndex) => Promise<void>) => Promise<void>;
  readonly open: () => Promise<{ readonly index: RowIndex; close(): Promise<void> }>;
  readonly put: (collection: "products", n: number, changes?: { business_uuid?: string }) => RowChange;
  /** The id of product `n` in the index that is open. */
  readonly idOf: (n: number) => string;
}

const byRelevance: RowQuery["sort"] = [{ field: textMatchKey, direction: "desc" }];
const byPrice: RowQuery["sort"] = [{ field: "price_US", direction: "asc" }];

/** A query for products by their names. */
function named(q: string, changes: Partial<RowQuery> = {}): RowQuery {
  return {
    collection: "products",
    country: "US",
    text: { words: queryWords(q), fields: ["product_name", "brand"] },
    clauses: [],
    sort: byRelevance,
    limit: 50,
    excludeBusinesses: [],
    ...changes,
  };
}

export function rowIndexSpellingTests({ withIndex, open, put, idOf }: Suite): void {
  /** An index of products with these names, numbered from 0. */
  const withNames = (
    names: readonly string[],
    run: (found: (query: RowQuery) => Promise<readonly number[]>, index: RowIndex) => Promise<void>,
  ): Promise<void> =>
    withIndex(open, async (index) => {
      await index.apply(
        names.map((product_name, n) =>
          withMembers(put("products", n, { business_uuid: `business ${n}` }), {
            product_name,
            brand: n % 2 === 0 ? "Even" : "Odd",
            price_US: n,
            countries: n === 9 ? ["CA"] : ["US"],
          }),
        ),
      );
      const numbers = new Map(names.map((_, n) => [idOf(n), n]));
      const found = async (query: RowQuery) =>
        (await index.search(query)).map(({ record_id: id }) => numbers.get(id) ?? -1);
      await run(found, index);
    });

  it("ranks the word as it is written before its plural and singular, whatever else the texts are (X6)", () =>
    withNames(
      ["loaves and loaves", "one loaf of eleven words that are rather long to read", "a roll"],
      async (found) => {
        expect(await found(named("loaf"))).toEqual([1, 0]);
        expect(await found(named("loaves"))).toEqual([0, 1]);
        expect(await found(named("loaf", { sort: byPrice }))).toEqual([0, 1]);
      },
    ));

  it("ranks a misspelt word last, and finds it in singular and plural (X8)", () =>
    withNames(
      ["white bread", "white breads here now", "a write up of breads in so many words", "white board"],
      async (found) => {
        expect(await found(named("whites braed"))).toEqual([0, 1, 2]);
        expect(await found(named("wihte braed"))).toEqual([0, 1]);
        expect(await found(named("whire breads"))).toEqual([1, 0]);
      },
    ));

  it.each([
    ["a letter too many, and a plural", "sourdoughs loaff", [0]],
    ["a letter too many", "sourdouggh", [0]],
    ["a letter missing", "surdough", [0]],
    ["a wrong first letter", "xourdough", [0]],
    ["two letters swapped", "sourdouhg", [0]],
    ["an accent, which is none, and a swap", "sóurdouhg", [0]],
    ["two edits", "sordouhg", []],
    ["four letters", "laof", []],
    ["a digit", "80000", []],
    ["another alphabet", "жукии", [1]],
  ] as const)("finds a word with one edit in five letters and more (X8): %s, %s", (_, q, expected) =>
    withNames(["sourdough loaf 8000", "жукi жуки"], async (found) => {
      expect(await found(named(q))).toEqual(expected);
      expect(await found(named(q, { sort: byPrice }))).toEqual(expected);
    }),
  );

  it("takes a word as misspelt only where no row has the text as it is written (X8)", () =>
    withNames(["bread", "broad", "board", "bread and broad", "", "", "", "", "", "trowel"], async (found) => {
      expect(await found(named("bread"))).toEqual([0, 3]);
      expect(await found(named("bread board"))).toEqual([]);
      expect(await found(named("bread bread broad"))).toEqual([3]);
      // In another country there is the word; here there is none like it.
      expect(await found(named("trowel"))).toEqual([]);
      expect(await found(named("towel", { country: "CA" }))).toEqual([9]);
    }));

  it("does so whatever the filters are, and for the rows that the caller may see (X8)", () =>
    withNames(["bread", "broad", "bread"], async (found) => {
      const odd: RowQuery["clauses"] = [{ field: "brand", op: "eq", value: "Odd" }];
      expect(await found(named("bread", { clauses: odd }))).toEqual([]);
      expect(await found(named("braed", { clauses: odd }))).toEqual([]);
      expect(await found(named("broed", { clauses: odd }))).toEqual([1]);
      const excludeBusinesses = ["business 0", "business 2"];
      expect(await found(named("bread", { excludeBusinesses }))).toEqual([1]);
      expect(await found(named("bread", { excludeBusinesses, clauses: odd, sort: byPrice }))).toEqual([1]);
    }));

  it("follows rows that come and go (X8)", () =>
    withNames(["lantern"], async (found, index) => {
      expect(await found(named("lanten"))).toEqual([0]);
      await index.apply([withMembers({ ...put("products", 1), change: 2 }, { product_name: "lanten" })]);
      expect(await index.search(named("lanten"))).toHaveLength(1);
      expect(await found(named("lanten"))).toEqual([-1]);
      await index.apply([
        { kind: "remove", collection: "products", record_id: idOf(1), change: 3 },
        { kind: "remove", collection: "products", record_id: idOf(0), change: 3 },
      ]);
      expect(await found(named("lanten"))).toEqual([]);
      expect(await found(named("lantern"))).toEqual([]);
    }));

  it(`looks for at most ${spellingsMax} spellings of a word, the same on every engine (X8)`, () =>
    withNames(["some words"], async (found, index) => {
      const all = spellingsOf("zebra").filter((each) => each !== "zebras");
      await index.apply(
        all.map((product_name, n) =>
          withMembers(put("products", 1_000 + n), { product_name, brand: "None", price_US: n, tags: [] }),
        ),
      );
      await index.apply([withMembers(put("products", 999), { product_name: "q", brand: "zebra" })]);
      expect(await found(named("zebra"))).toEqual([-1]);
      const inNames = { words: queryWords("zebra"), fields: ["product_name"] };
      const hits = await index.search(named("", { text: inNames, sort: byPrice }));
      const names = new Set(
        hits.map(({ row }) => (JSON.parse(row) as { product_name: string }).product_name),
      );
      expect(names).toEqual(new Set(all.slice(0, spellingsMax)));
    }));
}
