import { describe, expect, it } from "vitest";
import { bucketOf, createWriteTimestamps, stampOfChange } from "./columns.ts";

const nowMs = Date.parse("2026-05-06T07:08:09.010Z");

describe("write timestamps", () => {
  it("rise, or fall, even while the clock stands still or goes back (W2, W4)", () => {
    let now = nowMs;
    const stamps = createWriteTimestamps(() => now);
    const rising = [stamps.rising(), stamps.rising()];
    now -= 5_000;
    rising.push(stamps.rising());
    now += 60_000;
    rising.push(stamps.rising());
    expect(rising).toEqual([...new Set(rising)].toSorted((a, b) => a - b));
    expect(rising[0]).toBe(nowMs * 1_000);
    const falling = Array.from({ length: 5 }, () => stamps.falling());
    expect(falling).toEqual([...new Set(falling)].toSorted((a, b) => b - a));
  });

  it("of what never changes lie before any true time, and are positive for generations (W2)", () => {
    for (const at of [nowMs, nowMs + 30 * 365 * 86_400_000]) {
      const stamps = createWriteTimestamps(() => at);
      expect(stamps.falling()).toBeLessThan(stamps.rising());
      expect(stamps.falling()).toBeGreaterThan(0);
      expect(Number.isSafeInteger(stamps.falling())).toBe(true);
    }
  });

  it("of a change follow from it alone, from the first possible one (W1)", () => {
    expect([0, 1, 2, 41].map(stampOfChange)).toEqual([1, 2, 3, 42]);
    for (const change of [-1, 0.5, Number.NaN, 2 ** 53])
      expect(() => stampOfChange(change)).toThrow(RangeError);
  });
});

describe("a bucket", () => {
  it("never changes, for what is stored is found by it", () => {
    expect(
      ["", "a", "svc_abcdefghijklmnopqrstuvwxyz"].map((text) => bucketOf(text, 16)),
    ).toMatchInlineSnapshot(`
      [
        9,
        0,
        2,
      ]
    `);
  });

  it("is as likely as any other", () => {
    const counts = new Array<number>(16).fill(0);
    for (let n = 0; n < 16_000; n += 1) {
      const bucket = bucketOf(`ret_019e5d1a2b3c${n.toString(16).padStart(20, "0")}`, 16);
      counts[bucket] = (counts[bucket] ?? 0) + 1;
    }
    expect(Math.min(...counts)).toBeGreaterThan(800);
    expect(Math.max(...counts)).toBeLessThan(1_200);
  });
});
