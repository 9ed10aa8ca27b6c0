// What every implementation of the port in row-index.ts must pass: X1–X4 and X6, every operator of every field of every
// collection, and the order of what is found, against an index that reads every row (storage/memory/row-index.ts).
// An adapter's test calls `rowIndexConformance` with a way to open an empty index.

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { textMatchKey } from "../collections/definition.ts";
import { parseSearchRequest, toRowQuery } from "../collections/search-request.ts";
import { type CollectionName, collectionNames } from "../protocol/identifiers.ts";
import { projectedRowText, projectRecord } from "../protocol/projection/project.ts";
import { sampleRecords } from "../protocol/records/records.fixture.ts";
import { Unavailable } from "../std/unavailable.ts";
import { MemoryRowIndex } from "./memory/row-index.ts";
import {
  changesOf,
  clausesOf,
  countries,
  queryOf,
  recordIdFor,
  withMembers,
  wordsOf,
} from "./row-index.fixture.ts";
import type { IndexUnavailable, RowChange, RowHit, RowIndex, RowQuery } from "./row-index.ts";
import { rowIndexRecordTests } from "./row-index-records.conformance.ts";
import { rowIndexSpellingTests } from "./row-index-spelling.conformance.ts";

export interface OpenRowIndex {
  readonly index: RowIndex;
  close(): Promise<void>;
}

const recordsPerCollection = 45;
/** Number of changes sent together, as a region does. */
const batch = 20;

const business = "7f9c2a10-5b1e-4c3d-8e2f-0123456789ab";
let space = 0;

/** A put of the collection's sample record, with changes. */
function put(
  collection: CollectionName,
  n: number,
  changes: Partial<Extract<RowChange, { kind: "put" }>> = {},
): RowChange {
  const record_id = recordIdFor(collection, space, n);
  const projected = projectRecord({
    collection,
    record: sampleRecords[collection],
    recordId: record_id,
    businessUuid: business,
    hash: `sha256:${"0".repeat(64)}`,
    certId: `sha256:${"1".repeat(64)}`,
    keyId: "k".repeat(43),
    publishedAt: 1_770_000_000,
    aiPolicyVersion: 1,
  });
  return {
    kind: "put",
    collection,
    record_id,
    business_uuid: business,
    generation: 1,
    change: 1,
    row: projectedRowText(projected),
    ...changes,
  };
}

/** Like `put` of product 1, with this note in its row. */
function noted(change: number, note: string): RowChange {
  return withMembers(put("products", 1, { change }), { note });
}

function notesOf(hits: readonly RowHit[]): readonly unknown[] {
  return hits.map((hit) => (JSON.parse(hit.row) as { note?: string }).note);
}

function remove(collection: CollectionName, n: number, change: number): RowChange {
  return { kind: "remove", collection, record_id: recordIdFor(collection, space, n), change };
}

const everything: RowQuery = {
  collection: "products",
  country: "US",
  clauses: [],
  sort: [{ field: "published_at", direction: "desc" }],
  limit: 50,
  excludeBusinesses: [],
};

function generationsOf(hits: readonly RowHit[]): readonly number[] {
  return hits.map((hit) => hit.generation);
}

function idsOf(hits: readonly RowHit[]): readonly string[] {
  return hits.map((hit) => hit.record_id);
}

/** The suite for one engine; each test opens its own index. */
export function rowIndexConformance(name: string, open: () => Promise<OpenRowIndex>): void {
  describe(`${name} as a row index`, () => {
    changeTests(open);
    searchTests(open);
    rowIndexRecordTests({ open, put, idOf: (n) => recordIdFor("products", space, n), withIndex });
    rowIndexSpellingTests({ open, put, idOf: (n) => recordIdFor("products", space, n), withIndex });
    for (const collection of collectionNames) randomTests(open, collection);
  });
}

/** What an engine must report if it cannot answer, or not completely; each way of breaking it is opened once. */
export function brokenRowIndexConformance(
  name: string,
  ways: Readonly<Record<string, () => Promise<OpenRowIndex>>>,
): void {
  describe(`${name} as a row index that cannot answer`, () => {
    it.each(Object.entries(ways))("says so, and when to ask again: %s (X5)", (_, open) =>
      withIndex(open, async (index) => {
        for (const work of [
          () => index.search(everything),
          () => index.apply([put("products", 1)]),
          () => index.count("products"),
        ]) {
          const told = await work().then(
            (answer) => answer,
            (error: unknown) => error,
          );
          expect(told).toBeInstanceOf(Unavailable);
          expect((told as IndexUnavailable).retryAfterSeconds).toBeGreaterThanOrEqual(1);
        }
      }),
    );
  });
}

async function withIndex(
  open: () => Promise<OpenRowIndex>,
  run: (index: RowIndex) => Promise<void>,
): Promise<void> {
  space += 1;
  const opened = await open();
  try {
    await run(opened.index);
  } finally {
    await opened.close();
  }
}

function changeTests(open: () => Promise<OpenRowIndex>): void {
  it("says of which version a row is, also after its change and its return", () =>
    withIndex(open, async (index) => {
      const found = async () => generationsOf(await index.search(everything));
      await index.apply([put("products", 1, { generation: 7 })]);
      expect(await found()).toEqual([7]);
      await index.apply([put("products", 1, { generation: 2_000_000_000, change: 2 })]);
      expect(await found()).toEqual([2_000_000_000]);
      await index.apply([remove("products", 1, 3)]);
      await index.apply([put("products", 1, { generation: 8, change: 4 })]);
      expect(await found()).toEqual([8]);
    }));

  it("keeps the change with the highest number and calls the others stale (X1)", () =>
    withIndex(open, async (index) => {
      expect(await index.apply([noted(5, "five")])).toEqual(["applied"]);
      expect(await index.apply([noted(4, "four"), noted(5, "again")])).toEqual(["stale", "stale"]);
      expect(notesOf(await index.search(everything))).toEqual(["five"]);
      expect(await index.apply([noted(7, "seven"), noted(6, "six")])).toEqual(["applied", "stale"]);
      expect(notesOf(await index.search(everything))).toEqual(["seven"]);
      expect(await index.count("products")).toBe(1);
    }));

  it("does not bring a removed row back by an older put, even one it never saw (X2)", () =>
    withIndex(open, async (index) => {
      expect(await index.apply([put("products", 1, { change: 3 }), remove("products", 1, 4)])).toEqual([
        "applied",
        "applied",
      ]);
      expect(
        await index.apply([put("products", 1, { change: 3 }), put("products", 1, { change: 4 })]),
      ).toEqual(["stale", "stale"]);
      expect(await index.apply([remove("products", 2, 9)])).toEqual(["applied"]);
      expect(await index.apply([put("products", 2, { change: 8 }), remove("products", 2, 8)])).toEqual([
        "stale",
        "stale",
      ]);
      expect(await index.search(everything)).toEqual([]);
      expect(await index.count("products")).toBe(0);
      expect(await index.apply([put("products", 1, { change: 5 })])).toEqual(["applied"]);
      expect(await index.search(everything)).toHaveLength(1);
    }));

  it("tells whether a search could return a record, by its collection", () =>
    withIndex(open, async (index) => {
      const { record_id: id } = put("products", 1);
      const found = () =>
        Promise.all((["products", "updates"] as const).map((each) => index.isFindable(each, id)));
      expect(await found()).toEqual([false, false]);
      await index.apply([put("products", 1, { change: 3 }), put("products", 2, { change: 3 })]);
      expect(await found()).toEqual([true, false]);
      await index.apply([remove("products", 1, 4)]);
      expect(await found()).toEqual([false, false]);
      await index.apply([put("products", 1, { change: 5 })]);
      expect(await found()).toEqual([true, false]);
    }));

  it("gives a row exactly as it was signed (X3)", () =>
    withIndex(open, async (index) => {
      const row = '{"a":"\\u0000é日本語 😀\\"","price_US":1e-7,"countries":["\\u0055S"],"z":[ ]}\n';
      const change = put("products", 1, { row });
      await index.apply([change]);
      expect(await index.search(everything)).toEqual([
        { record_id: change.record_id, business_uuid: business, generation: 1, row },
      ]);
    }));

  it("finds after a purge what it found before, and takes changes as before (X7)", () =>
    withIndex(open, async (index) => {
      const named = (term: string): RowQuery => ({
        ...everything,
        text: { words: wordsOf(term), fields: ["product_name"] },
      });
      await index.apply([1, 2, 3].map((each) => withMembers(put("products", each), { product_name: "old" })));
      await index.apply([
        withMembers(put("products", 1, { change: 2 }), { product_name: "new" }),
        remove("products", 2, 2),
      ]);
      await index.purge(["products", "events"]);
      await index.purge(["products"]);
      expect(await index.search(named("old"))).toHaveLength(1);
      expect(await index.search(named("new"))).toHaveLength(1);
      expect(await index.apply([put("products", 2), remove("products", 3, 2)])).toEqual(["stale", "applied"]);
      expect(await index.count("products")).toBe(1);
    }));

  it("finds a row by what its text says (X6) now, not by what it said (X4)", () =>
    withIndex(open, async (index) => {
      const brand = (value: string): RowQuery => ({
        ...everything,
        clauses: [{ field: "brand", op: "eq", value }],
      });
      const named = (term: string): RowQuery => ({
        ...everything,
        text: { words: wordsOf(term), fields: ["product_name"] },
      });
      await index.apply([withMembers(put("products", 1), { brand: "Old", product_name: "old" })]);
      await index.apply([
        withMembers(put("products", 1, { change: 2 }), { brand: "New", product_name: "new" }),
      ]);
      expect(await index.search(brand("Old"))).toEqual([]);
      expect(await index.search(named("old"))).toEqual([]);
      expect(await index.search(brand("New"))).toHaveLength(1);
      expect(await index.search(named("new"))).toHaveLength(1);
      await index.apply([withMembers(put("products", 1, { change: 3 }), { countries: ["CA"] })]);
      expect(await index.search(everything)).toEqual([]);
      expect(await index.search({ ...everything, country: "CA" })).toHaveLength(1);
      await index.apply([remove("products", 1, 4)]);
      expect(await index.search({ ...everything, country: "CA" })).toEqual([]);
    }));

  it("bears nothing to apply", () =>
    withIndex(open, async (index) => expect(await index.apply([])).toEqual([])));
}

function searchTests(open: () => Promise<OpenRowIndex>): void {
  it("puts equal rows in the order of their ids and rows without the sort field last", () =>
    withIndex(open, async (index) => {
      const priced = (n: number, price_US?: number): RowChange =>
        withMembers(put("products", n), { price_US });
      await index.apply([priced(1, 2), priced(2), priced(3, 1), priced(4, 2), priced(5), priced(6, 0)]);
      const id = (n: number) => recordIdFor("products", space, n);
      const tied = (...of: readonly number[]) => of.map(id).sort();
      const byPrice = (direction: "asc" | "desc") =>
        index.search({ ...everything, sort: [{ field: "price_US", direction }] });
      expect(idsOf(await byPrice("asc"))).toEqual([id(6), id(3), ...tied(1, 4), ...tied(2, 5)]);
      expect(idsOf(await byPrice("desc"))).toEqual([...tied(1, 4), id(3), id(6), ...tied(2, 5)]);
    }));

  it("ranks a row that matches more often, in as much text, before one that matches less", () =>
    withIndex(open, async (index) => {
      const texts = ["red shoe red shoe", "red shoe green hat", "blue hat green coat", "a b c d", "e f g h"];
      const rows = texts.map((product_name, n) =>
        withMembers(put("products", n), { product_name, tags: [] }),
      );
      await index.apply(rows);
      const query = (direction: "asc" | "desc"): RowQuery => ({
        ...everything,
        text: { words: wordsOf("red"), fields: ["product_name", "tags"] },
        sort: [{ field: textMatchKey, direction }],
      });
      const expected = [recordIdFor("products", space, 0), recordIdFor("products", space, 1)];
      expect(idsOf(await index.search(query("desc")))).toEqual(expected);
      expect(idsOf(await index.search(query("asc")))).toEqual(expected.toReversed());
    }));

  it.each(collectionNames)("finds a published record of %s by a search as a caller writes it", (collection) =>
    withIndex(open, async (index) => {
      await index.apply([put(collection, 1)]);
      const search = async (q: string, all: readonly object[]): Promise<number> => {
        const request = parseSearchRequest({
          collection,
          q,
          filter: { all: [{ country: "CA" }, ...all] },
          sort_by: "_text_match:desc",
        });
        if (!request.ok) throw new Error(request.detail);
        return (await index.search(toRowQuery(request.value))).length;
      };
      const words = {
        products: "Shoes RUNNING",
        business_files: "harrier",
        events: "night",
        jobs: "shoemakers",
        updates: "opening HOUR",
      };
      expect(await search(words[collection], [{ language: "en" }])).toBe(1);
      expect(await search(words[collection], [{ language: "fr" }])).toBe(0);
      expect(await search(`${words[collection]} zeppelin`, [])).toBe(0);
    }),
  );
}

function randomTests(open: () => Promise<OpenRowIndex>, collection: CollectionName): void {
  describe.each([1, 2, Math.trunc(Math.random() * 0x7fffffff)])(
    `of random ${collection}, rows of seed %i,`,
    (seed) => {
      const reference = new MemoryRowIndex();
      let opened: OpenRowIndex;
      let index: RowIndex;
      /** The space of these rows' ids: other tests go on to further ones. */
      let rowsOf: number;

      beforeAll(async () => {
        space += 1;
        rowsOf = space;
        opened = await open();
        index = opened.index;
        const [changes = []] = fc.sample(changesOf(collection, space, recordsPerCollection), {
          seed,
          numRuns: 1,
        });
        for (let from = 0; from < changes.length; from += batch) {
          const some = changes.slice(from, from + batch);
          expect(await index.apply(some)).toEqual(await reference.apply(some));
        }
      });
      afterAll(() => opened.close());

      it("counts what can be found", async () => {
        expect(await index.count(collection)).toBe(await reference.count(collection));
        expect(await reference.count(collection)).toBeGreaterThan(recordsPerCollection / 4);
      });

      it("answers any query as an index does that reads every row", async () => {
        await fc.assert(
          fc.asyncProperty(queryOf(collection, rowsOf), async (query) => {
            await compareSearch({ index, reference }, query);
          }),
          { numRuns: 150 },
        );
      });

      it("knows every operator of every field", async () => {
        let found = 0;
        for (const country of countries) {
          for (const arbitrary of clausesOf(collection, { country, space: rowsOf })) {
            for (const clause of fc.sample(arbitrary, { seed, numRuns: 4 })) {
              const query = { ...everything, collection, country, clauses: [clause] };
              found += await compareSearch({ index, reference }, query);
            }
          }
        }
        expect(found).toBeGreaterThan(0);
      });
    },
  );
}

/** Asserts that both find the same rows in the same order. */
async function compareSearch(
  both: { readonly index: RowIndex; readonly reference: RowIndex },
  query: RowQuery,
): Promise<number> {
  const [found, expected] = await Promise.all([both.index.search(query), both.reference.search(query)]);
  expect(found).toEqual(expected);
  return found.length;
}
