import { expect, it } from "vitest";
import { part } from "../../protocol/rubbish.fixture.ts";
import { createKnownActors } from "./search.ts";

/** A store that takes `tookMs` to count, and how often it did. */
function storeOf(tookMs: number, answers: () => number = () => 7) {
  const told = { counts: 0, elapsedMs: 0 };
  const known = createKnownActors({
    store: part({
      listActors: async () => [],
      countActors: async () => {
        told.counts += 1;
        told.elapsedMs += tookMs;
        return answers();
      },
    }),
    inspect: async () => null,
    whereOf: () => ({ region: null, node: null }),
    elapsedMs: () => told.elapsedMs,
  });
  return { known, told };
}

it.each([
  ["ten seconds", 1, 10_000],
  ["a hundred times as long as counting took", 400, 40_000],
  ["five minutes at most", 3_600_000, 300_000],
])("KA2: a count is kept for %s", async (_what, tookMs, keptMs) => {
  const { known, told } = storeOf(tookMs);
  expect(await Promise.all([known.count("push", 3), known.count("push", 3)])).toEqual([
    { count: 7, isExact: true },
    { count: 7, isExact: true },
  ]);
  told.elapsedMs += keptMs - 1;
  await known.count("push", 3);
  expect(told.counts).toBe(1);
  told.elapsedMs += 1;
  await known.count("push", 3);
  await known.count("ledger", 3);
  expect(told.counts).toBe(3);
});

it("KA2, KA3: a count that failed is of those in memory, and is made again", async () => {
  let isAway = true;
  const { known, told } = storeOf(1, () => {
    if (isAway) throw new Error("the store is away");
    return 200_000;
  });
  expect(await known.count("push", 3)).toEqual({ count: 3, isExact: false });
  isAway = false;
  expect(await known.count("push", 3)).toEqual({ count: 200_000, isExact: false });
  expect(told.counts).toBe(2);
});

it("KA3: a kind that is not listed is counted in memory", async () => {
  const { known, told } = storeOf(1);
  expect(await known.count("ad-pool", 3)).toEqual({ count: 3, isExact: false });
  expect(told.counts).toBe(0);
});
