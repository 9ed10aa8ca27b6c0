import { describe, expect, it } from "vitest";
import { createRequestRate } from "./request-rate.ts";

function world(options: { readonly perSecond: number; readonly burst: number; readonly keysMax?: number }) {
  const time = { ms: 0 };
  const { take } = createRequestRate({ ...options, elapsedMs: () => time.ms });
  /** How many of the given number of requests pass now. */
  const passing = (count: number, keyId = "k"): number =>
    Array.from({ length: count }, () => take(keyId)).filter((refusal) => refusal === null).length;
  return { time, take, passing };
}

describe("the request rate of a key", () => {
  it("lets a burst through, then so many a second (B1)", () => {
    const { time, passing } = world({ perSecond: 5, burst: 10 });
    expect(passing(20)).toBe(10);
    time.ms = 199;
    expect(passing(20)).toBe(0);
    time.ms = 200;
    expect(passing(20)).toBe(1);
    time.ms = 1_200;
    expect(passing(20)).toBe(5);
    time.ms = 3_600_000;
    expect(passing(20)).toBe(10);
  });

  it("is of that key alone", () => {
    const { passing } = world({ perSecond: 1, burst: 2 });
    expect([passing(3, "a"), passing(3, "b"), passing(3, "a")]).toEqual([2, 2, 0]);
  });

  it("is refused with what limits, and with Retry-After", () => {
    const { take } = world({ perSecond: 1, burst: 1 });
    expect(take("k")).toBeNull();
    expect(take("k")).toMatchObject({
      problem: { status: 429, code: "rate_limited", reason: "request_rate", retry_after_seconds: 1 },
      headers: { "retry-after": "1" },
    });
  });

  it("forgets the keys that were not used for long, and no others (B3)", () => {
    const { passing } = world({ perSecond: 1, burst: 1, keysMax: 4 });
    expect(passing(2, "gone")).toBe(1);
    expect(passing(2, "used")).toBe(1);
    for (let other = 0; other < 100; other += 1) {
      expect(passing(1, `other ${other}`)).toBe(1);
      expect(passing(1, "used")).toBe(0);
    }
    expect(passing(2, "gone")).toBe(1);
  });

  it.each([
    [0, 1],
    [1, 0],
    [0.5, 1],
    [1, Number.POSITIVE_INFINITY],
  ])("is of whole requests, not %d a second and %d at once", (perSecond, burst) => {
    expect(() => world({ perSecond, burst })).toThrow("whole number of requests");
  });
});
