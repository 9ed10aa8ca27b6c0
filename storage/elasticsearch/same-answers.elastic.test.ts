// For the same rows and query the embedded engine, this one and the index that reads every row return the same result: the
// same rows in the same order, relevance included.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { collections } from "../../collections/collections.ts";
import { textMatchKey } from "../../collections/definition.ts";
import { distanceKm } from "../../collections/geo-distance.ts";
import { type CollectionName, collectionNames } from "../../protocol/identifiers.ts";
import { MemoryRowIndex } from "../memory/row-index.ts";
import { changesOf, queryOf, recordIdFor, withMembers, wordsOf } from "../row-index.fixture.ts";
import type { GeoPoint, RowChange, RowIndex, RowQuery } from "../row-index.ts";
import { SqliteRowIndex } from "../sqlite/row-index.ts";
import { hasElastic, openFresh } from "./elastic.fixture.ts";

const records = 120;
const seeds = [20_261_005, Math.trunc(Math.random() * 0x7fffffff)];

async function openAll(collection: CollectionName) {
  const elastic = await openFresh([collection]);
  const folder = mkdtempSync(join(tmpdir(), "svc-same-answers-"));
  const sqlite = new SqliteRowIndex(join(folder, "rows.db"));
  const memory = new MemoryRowIndex();
  const all: readonly RowIndex[] = [elastic.index, sqlite, memory];
  return {
    apply: async (changes: readonly RowChange[]): Promise<void> => {
      const [first, ...others] = await Promise.all(all.map((index) => index.apply(changes)));
      for (const outcomes of others) expect(outcomes).toEqual(first);
    },
    /** Number of rows that all three return. */
    search: async (query: RowQuery): Promise<number> => {
      const [found, embedded, expected] = await Promise.all(all.map((index) => index.search(query)));
      expect({ query, elastic: found, sqlite: embedded }).toEqual({
        query,
        elastic: expected,
        sqlite: expected,
      });
      return expected?.length ?? 0;
    },
    close: async () => {
      sqlite.close();
      rmSync(folder, { recursive: true });
      await elastic.close();
    },
  };
}

type All = Awaited<ReturnType<typeof openAll>>;

const words = [
  "red",
  "blue",
  "shoe",
  "shoes",
  "loaves",
  "loaf",
  "bread",
  "breads",
  "broad",
  "日本",
  "x1",
  "é",
  ...Array.from({ length: 30 }, (_, n) => `w${n}`),
];

/** Makes the row's texts long and repetitive, so that term counts and lengths differ widely. */
function wordy(collection: CollectionName): fc.Arbitrary<Readonly<Record<string, string>>> {
  const text = fc
    .array(
      fc.oneof(
        { weight: 1, arbitrary: fc.constantFrom("red", "blue") },
        { weight: 2, arbitrary: fc.constantFrom(...words) },
      ),
      {
        minLength: 1,
        maxLength: 90,
        size: "max",
      },
    )
    .map((list) => list.join(" "));
  const texts = Object.fromEntries(collections[collection].textFields.map((name) => [name, text]));
  return fc.record(texts, { requiredKeys: [] }) as fc.Arbitrary<Readonly<Record<string, string>>>;
}

function sample<T>(arbitrary: fc.Arbitrary<T>, seed: number): T {
  const [value] = fc.sample(arbitrary, { seed, numRuns: 1 });
  return value as T;
}

describe.skipIf(!hasElastic).each(collectionNames)("the same answers to queries of %s", (collection) => {
  describe.each(seeds)("over random rows of seed %i,", (seed) => {
    let all: All;

    beforeAll(async () => {
      all = await openAll(collection);
      const changes = sample(changesOf(collection, seed, records), seed);
      const texts = fc.sample(wordy(collection), { seed, numRuns: changes.length });
      const withTexts = changes.map((change, n) =>
        n % 2 === 0 ? withMembers(change, texts[n] ?? {}) : change,
      );
      for (let from = 0; from < withTexts.length; from += 50)
        await all.apply(withTexts.slice(from, from + 50));
    });
    afterAll(() => all.close());

    it("whatever is asked", async () => {
      let found = 0;
      await fc.assert(
        fc.asyncProperty(queryOf(collection, seed), async (query) => {
          found += await all.search(query);
        }),
        { numRuns: 120, seed },
      );
      expect(found).toBeGreaterThan(100);
    });

    it("ranked by relevance", async () => {
      const { textFields } = collections[collection];
      const ranked = fc.record({
        country: fc.constantFrom("US", "CA", "FR"),
        terms: fc.uniqueArray(fc.constantFrom("red", "blue", "shoes", "loaf", "braed", "breds", "w1"), {
          minLength: 1,
          maxLength: 3,
        }),
        fields: fc.shuffledSubarray([...textFields], { minLength: 1 }),
        direction: fc.constantFrom("asc" as const, "desc" as const),
        limit: fc.integer({ min: 1, max: 50 }),
      });
      let found = 0;
      await fc.assert(
        fc.asyncProperty(ranked, async ({ country, terms, fields, direction, limit }) => {
          const sort = [{ field: textMatchKey, direction }];
          found += await all.search({
            collection,
            country,
            text: { words: wordsOf(...terms), fields },
            clauses: [],
            sort,
            limit,
            excludeBusinesses: [],
          });
        }),
        { numRuns: 80, seed },
      );
      expect(found).toBeGreaterThan(100);
    });
  });
});

describe.skipIf(!hasElastic)("the same answers", () => {
  const place = (n: number, points: readonly GeoPoint[], members: object = {}): RowChange => ({
    kind: "put",
    collection: "business_files",
    record_id: recordIdFor("business_files", 9, n),
    business_uuid: `business ${n % 3}`,
    generation: 1,
    change: 1,
    row: JSON.stringify({
      n,
      countries: ["US"],
      published_at: n % 5,
      location_geo: points,
      ...members,
    }),
  });
  const query: RowQuery = {
    collection: "business_files",
    country: "US",
    clauses: [],
    sort: [{ field: "published_at", direction: "desc" }],
    limit: 50,
    excludeBusinesses: [],
  };
  const near = (point: GeoPoint, radiusKm: number, limit = 50): RowQuery => ({
    ...query,
    limit,
    clauses: [{ field: "location_geo", op: "near", point, radiusKm }],
  });

  async function withAll(run: (all: All) => Promise<void>): Promise<void> {
    const all = await openAll("business_files");
    try {
      await run(all);
    } finally {
      await all.close();
    }
  }

  it.each(seeds)("at the rim of a circle, to the millimetre: seed %i", (seed) =>
    withAll(async (all) => {
      const point = fc.record({
        lat: fc.double({ min: -90, max: 90, noNaN: true }),
        lng: fc.double({ min: -180, max: 180, noNaN: true }),
      });
      const close = fc.record({
        lat: fc.double({ min: 53.7, max: 53.9, noNaN: true }),
        lng: fc.double({ min: -1.6, max: -1.5, noNaN: true }),
      });
      const points = fc.sample(fc.oneof(point, close), { seed, numRuns: 150 });
      await all.apply(points.map((each, n) => place(n, n % 4 === 0 ? [each, points[0] ?? each] : [each])));
      let found = 0;
      for (const center of [points[1], points[2], { lat: 53.8, lng: -1.55 }, { lat: 90, lng: 0 }]) {
        if (center === undefined) continue;
        for (const rim of points.slice(0, 9)) {
          const radiusKm = distanceKm(center, rim);
          for (const radius of [radiusKm, radiusKm - 1e-6, radiusKm + 1e-6])
            if (radius > 0) found += await all.search(near(center, radius));
        }
      }
      expect(found).toBeGreaterThan(100);
    }),
  );

  it("where more rows than are asked for lie just outside the circle and sort before those within", () =>
    withAll(async (all) => {
      const center = { lat: 10, lng: 10 };
      const outside = { lat: 10.100_000_2, lng: 10 };
      const radiusKm = distanceKm(center, { lat: 10.1, lng: 10 });
      const rows = Array.from({ length: 1_200 }, (_, n) =>
        place(n, [n < 1_150 ? outside : center], { published_at: n < 1_150 ? 9 : undefined }),
      );
      await all.apply(rows);
      expect(await all.search(near(center, radiusKm))).toBe(50);
      expect(await all.search(near(center, radiusKm, 3))).toBe(3);
      expect(await all.search({ ...near(center, radiusKm, 7), country: "CA" })).toBe(0);
    }));

  it("at the limits: many terms, many excluded businesses, numbers beyond all numbers", () =>
    withAll(async (all) => {
      const many = Array.from({ length: 512 }, (_, n) => `t${n}`);
      const [a = "", b = "", c = "", d = ""] = collections.business_files.textFields;
      await all.apply([
        place(1, [], {
          [a]: many.slice(0, 200).join(" "),
          [b]: many.slice(150, 400).join(" "),
          [c]: many.slice(400).join(" "),
          year_established: 1_900,
        }),
        place(2, [], { [d]: many.join(" ") }),
        place(3, [], { [a]: many.slice(1).join(" ") }),
      ]);
      const relevance = [{ field: textMatchKey, direction: "asc" as const }];
      for (const fields of [[a, b, c], [a, b, c, d], [d]])
        for (const sort of [relevance, query.sort])
          expect(await all.search({ ...query, text: { words: wordsOf(...many), fields }, sort })).toBe(
            fields.length === 4 ? 2 : 1,
          );
      const others = Array.from({ length: 120_000 }, (_, n) => `someone ${n}`);
      expect(await all.search({ ...query, excludeBusinesses: [...others, "business 1"] })).toBe(2);
      for (const value of [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
        for (const op of ["lt", "lte", "gt", "gte"] as const)
          await all.search({ ...query, clauses: [{ field: "year_established", op, value }] });
      const infinite: RowQuery = {
        ...query,
        clauses: [{ field: "year_established", op: "lt", value: Number.POSITIVE_INFINITY }],
      };
      expect(await all.search(infinite)).toBe(1);
      const exact = { field: "year_established", op: "eq", value: Number.POSITIVE_INFINITY } as const;
      expect(await all.search({ ...query, clauses: [exact] })).toBe(0);
    }));
});
