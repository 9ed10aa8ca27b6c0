import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { clausesMax } from "../../collections/parse-filter.ts";
import { parseSearchRequest } from "../../collections/search-request.ts";
import { createQueryBudget, fetchCost, poolCost, queryCostMax, searchCost } from "./request-rate.ts";

function world(perMinute: number, keysMax = 100) {
  const time = { ms: 5_000 };
  const { spend } = createQueryBudget({ perMinute, keysMax, elapsedMs: () => time.ms });
  const retryAfter = (cost: number, keyId = "k"): number =>
    spend(keyId, cost)?.problem.retry_after_seconds ?? 0;
  return { time, spend, retryAfter };
}

describe("the query-cost budget of a key", () => {
  it("is spent to its last unit, and is whole again a minute after it was begun (M1, M2)", () => {
    const { time, retryAfter } = world(20);
    expect([retryAfter(11), retryAfter(8)]).toEqual([0, 0]);
    time.ms += 1;
    expect([retryAfter(2), retryAfter(1), retryAfter(1)]).toEqual([60, 0, 60]);
    time.ms += 58_999;
    expect(retryAfter(1)).toBe(1);
    time.ms += 999;
    expect(retryAfter(1)).toBe(1);
    time.ms += 1;
    expect([retryAfter(11), retryAfter(10), retryAfter(9)]).toEqual([0, 60, 0]);
  });

  it("begins with what is spent first, not with the clock's minute", () => {
    const { time, retryAfter } = world(11);
    expect(retryAfter(11)).toBe(0);
    time.ms += 100_000;
    expect(retryAfter(11)).toBe(0);
    time.ms += 59_000;
    expect(retryAfter(11)).toBe(1);
  });

  it("is of that key alone, and is refused with what limits", () => {
    const { spend, retryAfter } = world(11);
    expect([retryAfter(11, "a"), retryAfter(11, "b")]).toEqual([0, 0]);
    expect(spend("a", 1)).toMatchObject({
      problem: { status: 429, code: "rate_limited", reason: "query_cost", retry_after_seconds: 60 },
      headers: { "retry-after": "60" },
    });
  });

  it("forgets the keys that were not used for long, and no others (M3)", () => {
    const { retryAfter } = world(11, 4);
    expect([retryAfter(11, "gone"), retryAfter(11, "used")]).toEqual([0, 0]);
    for (let other = 0; other < 100; other += 1) {
      expect(retryAfter(1, `other ${other}`)).toBe(0);
      expect(retryAfter(1, "used")).toBe(60);
    }
    expect(retryAfter(11, "gone")).toBe(0);
  });

  it("cannot be less than the most expensive request costs", () => {
    expect(() => world(queryCostMax - 1)).toThrow("most expensive");
    expect(world(queryCostMax).retryAfter(queryCostMax)).toBe(0);
  });
});

describe("what a search costs", () => {
  const costOf = (changes: object, clauses = 0): number => {
    const all = [{ country: "US" }, ...Array.from({ length: clauses }, () => ({ brand: "x" }))];
    const body = { filter: { all }, sort_by: "published_at:desc", ...changes };
    const parsed = parseSearchRequest(body, "products");
    if (!parsed.ok) throw new Error(parsed.detail);
    return searchCost(parsed.value);
  };

  it.each([
    [6, {}, 0],
    [2, { limit: 1 }, 0],
    [2, { limit: 10 }, 0],
    [3, { limit: 11 }, 0],
    [3, { limit: 10, q: "chair" }, 0],
    [3, { limit: 10 }, 1],
    [3, { limit: 10 }, 5],
    [4, { limit: 10 }, 6],
    [11, { limit: 50, q: "chair" }, clausesMax - 1],
  ])("is %d with %j and %d clauses besides the country", (cost, changes, clauses) => {
    expect(costOf(changes, clauses)).toBe(cost);
    expect(cost).toBeLessThanOrEqual(queryCostMax);
  });

  it("is as published beside that of a fetch and a pool of ads", async () => {
    const page = await readFile(new URL("../../docs/choices.md", import.meta.url), "utf8");
    expect(page).toContain(`A fetch costs ${fetchCost}, and a pool of ads ${poolCost}.`);
    expect(page).toContain(`at least 2 and at most ${queryCostMax}`);
    expect(poolCost).toBeLessThanOrEqual(queryCostMax);
  });

  it("is at most what the budget must have", () => {
    expect(queryCostMax).toBe(costOf({ q: "chair" }, clausesMax - 1));
  });
});
