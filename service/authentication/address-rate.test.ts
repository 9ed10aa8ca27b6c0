import { describe, expect, it } from "vitest";
import { createAddressRate } from "./request-rate.ts";

function rateOf(allPerMinute = 100) {
  const clock = { nowMs: 0 };
  const rate = createAddressRate({
    perMinute: 2,
    allPerMinute,
    elapsedMs: () => clock.nowMs,
    addressesMax: 8,
  });
  const passes = (address: string): boolean => rate.take(address) === null;
  return { clock, rate, passes };
}

describe("the rate of an address", () => {
  it("lets its requests of a minute through, and says how long the minute lasts", () => {
    const { clock, rate, passes } = rateOf();
    expect([passes("192.0.2.1"), passes("192.0.2.1"), passes("192.0.2.2")]).toEqual([true, true, true]);
    clock.nowMs = 20_000;
    expect(rate.take("192.0.2.1")).toMatchObject({
      headers: { "retry-after": "40" },
      problem: { code: "rate_limited", reason: "address_rate" },
    });
    clock.nowMs = 60_000;
    expect(passes("192.0.2.1")).toBe(true);
  });

  it("is that of a network where one subscriber has many addresses", () => {
    const { passes } = rateOf();
    expect([passes("2001:db8::1"), passes("2001:db8::2"), passes("2001:db8::3")]).toEqual([
      true,
      true,
      false,
    ]);
    expect(passes("2001:db8:0:1::1")).toBe(true);
    expect([passes("::ffff:192.0.2.9"), passes("192.0.2.9"), passes("192.0.2.9")]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it("bounds all addresses together, and what is kept of them", () => {
    const { clock, passes } = rateOf(5);
    const through = Array.from({ length: 20 }, (_, index) => passes(`198.51.100.${index}`));
    expect(through.filter(Boolean)).toHaveLength(5);
    clock.nowMs = 60_000;
    expect(passes("198.51.100.77")).toBe(true);
  });
});
