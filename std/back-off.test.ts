import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { backOffMs } from "./back-off.ts";

describe("a back-off", () => {
  it("doubles from the first to the most", () => {
    const delays = [1, 2, 3, 4, 5, 6].map((attempt) => backOffMs(attempt, { firstMs: 100, maxMs: 1_000 }));
    expect(delays).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  });

  it("is never longer than the most, also before the first repetition and after very many", () => {
    expect(backOffMs(1, { firstMs: 100, maxMs: 50 })).toBe(50);
    expect(backOffMs(5_000, { firstMs: 100, maxMs: 30_000 })).toBe(30_000);
    expect(backOffMs(5_000, { firstMs: 0, maxMs: 30_000 })).toBe(0);
  });

  it("never gets shorter", () => {
    const [attempt, ms] = [fc.integer({ min: 1, max: 3_000 }), fc.integer({ min: 1, max: 10_000 })];
    fc.assert(
      fc.property(attempt, ms, ms, (n, firstMs, maxMs) => {
        const delay = backOffMs(n, { firstMs, maxMs });
        expect(backOffMs(n + 1, { firstMs, maxMs })).toBeGreaterThanOrEqual(delay);
        expect(delay).toBeLessThanOrEqual(maxMs);
      }),
    );
  });
});
