import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MemoryRowIndex } from "../../storage/memory/row-index.ts";
import { SqliteRowIndex } from "../../storage/sqlite/row-index.ts";
import {
  gradeOf,
  type JudgedAnswer,
  type JudgedQuery,
  judgedQueries,
  judgeIndex,
  meanOf,
  meansBy,
  ndcg,
  ndcgGoal,
  sampleRecords,
} from "./judge-index.fixture.ts";

describe("the judged queries", () => {
  it("are at least a hundred, all different, in every language of the samples and over every collection", () => {
    const queries = judgedQueries();
    const names = queries.map(({ collection, country, q }) => `${collection} ${country} ${q}`);
    expect(new Set(names).size).toBe(queries.length);
    expect(queries.length).toBeGreaterThanOrEqual(100);
    const records = sampleRecords();
    const namesOf = (names: readonly unknown[]) => [...new Set(names)].sort();
    const languages = queries.map(({ language }) => language);
    expect(namesOf(languages)).toEqual(namesOf(records.map(({ record }) => record["language"])));
    const collections = queries.map(({ collection }) => collection);
    expect(namesOf(collections)).toEqual(namesOf(records.map(({ collection }) => collection)));
  });

  it("each have an answer among the records", () => {
    const records = sampleRecords();
    const without = judgedQueries().filter(
      (query) =>
        !records.some((each) => each.collection === query.collection && gradeOf(each.record, query) > 0),
    );
    expect(without.map(({ q }) => q)).toEqual([]);
  });
});

describe("the grade of a record", () => {
  const query: JudgedQuery = {
    language: "en",
    collection: "products",
    country: "GB",
    kind: "as written",
    q: "rye loaves",
    means: [["rye"], ["loaf", "loaves"]],
  };
  const described = { product_name: "A loaf", tags: ["bread"], short_description: "Nice." };
  const record = { countries: ["GB", "US"], ...described };

  it.each([
    [3, { product_name: "Dark Rýe-loaf" }],
    [2, { tags: ["dark rye"] }],
    [2, { brand: "Rye & Sons" }],
    [1, { short_description: "Of rye." }],
    [0, {}],
    [0, { product_name: "Rye loafs" }],
    [0, { product_name: "Rye loaf", countries: ["US"] }],
  ] as const)("is %i of one with %j", (grade, members) => {
    expect(gradeOf({ ...record, ...members }, query)).toBe(grade);
  });

  it("depends on the tag, where one is meant", () => {
    const tagged = { ...query, tag: "rye bread" };
    const rye = { ...record, product_name: "Rye loaf" };
    expect(gradeOf(rye, tagged)).toBe(1);
    expect(gradeOf({ ...rye, tags: ["rye bread"] }, tagged)).toBe(3);
  });
});

describe("nDCG@10", () => {
  it("is that of a hand's calculation", () => {
    // (7 / 1 + 3 / log2(3) + 0 + 1 / log2(5)) / (7 / 1 + 7 / log2(3) + 3 / 2 + 1 / log2(5)) = 9.3235 / 13.3472
    expect(ndcg([3, 2, 0, 1], [0, 1, 2, 3, 3])).toBeCloseTo(0.6985, 4);
  });

  it("is 1 for the best order, 0 for nothing, and does not look beyond the tenth", () => {
    expect(ndcg([3, 2, 1], [1, 2, 3])).toBe(1);
    expect(ndcg([], [1])).toBe(0);
    expect(ndcg([...Array<number>(10).fill(0), 3], [3])).toBe(0);
  });
});

describe("the embedded store", () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-relevance-"));
  let answers: readonly JudgedAnswer[] = [];

  beforeAll(async () => {
    const index = new SqliteRowIndex(join(folder, "rows.db"));
    answers = await judgeIndex(index);
    index.close();
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("answers the judged queries well, of every kind", () => {
    expect(meanOf(answers)).toBeGreaterThanOrEqual(ndcgGoal);
    const byKind = meansBy(answers, ({ kind }) => kind);
    for (const kind of ["as written", "plural", "accent"]) expect(byKind.get(kind)).toBeGreaterThan(0.99);
    expect(byKind.get("misspelt")).toBeGreaterThan(0.93);
  });

  it("answers them as an index does that reads every row", async () => {
    const expected = await judgeIndex(new MemoryRowIndex());
    expect(answers.map(({ found }) => found)).toEqual(expected.map(({ found }) => found));
  });
});
