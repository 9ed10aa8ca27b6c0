import { describe, expect, it } from "vitest";
import { createCatalogueRate } from "./catalogue.ts";

const uuid = "6f1c2f5e-8a8b-4a37-9d0c-2f1d7c3b5a10";

function rateOf(changes: Partial<Parameters<typeof createCatalogueRate>[0]> = {}) {
  const state = { nowMs: 5_000 };
  const options = { perHour: 2, freeEntries: 1_000, ...changes };
  const rate = createCatalogueRate({ elapsedMs: () => state.nowMs, ...options });
  const take = (reading: string, passed: number, business = uuid) =>
    rate.take(business, { reading, passed })?.problem.retry_after_seconds ?? null;
  return { state, take };
}

describe("reading a catalogue", () => {
  it("is free up to its first 1,000 entries", () => {
    const { take } = rateOf();
    for (let reading = 0; reading < 50; reading += 1)
      for (const passed of [0, 250, 999]) expect(take(`r${reading}`, passed)).toBeNull();
  });

  it("goes on so often an hour, each time for as many pages as there are (R1, R2)", () => {
    const { state, take } = rateOf();
    for (const reading of ["a", "b"])
      for (let passed = 1_000; passed < 1_000_000; passed += 5_000) expect(take(reading, passed)).toBeNull();
    state.nowMs += 600_000;
    expect(take("c", 1_000)).toBe(3_000);
    expect(take("a", 999_000)).toBeNull();
    expect(take("c", 750)).toBeNull();
    state.nowMs += 3_000_000;
    expect(take("c", 1_000)).toBeNull();
  });

  it("of a page again at once takes no read, and of pages that were passed takes another (R2)", () => {
    const { take } = rateOf();
    for (const passed of [1_000, 1_250, 1_250, 1_500]) expect(take("a", passed)).toBeNull();
    expect(take("a", 1_000)).toBeNull();
    expect(take("b", 1_000)).toBe(3_600);
    // The second reading of the same pages goes on as well.
    expect(take("a", 1_250)).toBeNull();
    expect(take("a", 1_000)).toBe(3_600);
  });

  it("is counted for each business, of which a bounded number is remembered (R3)", () => {
    const { take } = rateOf({ perHour: 1, businessesMax: 2 });
    expect([take("a", 1_000), take("b", 1_000), take("b", 1_000, "other")]).toEqual([null, 3_600, null]);
    expect(take("c", 1_000, "third")).toBeNull();
    expect(take("b", 1_000)).toBeNull();
  });
});
