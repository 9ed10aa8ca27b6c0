import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { contains, parseAddress, parseRange } from "../../std/ip-address.ts";
import { addressAllowed, buildAsTable } from "./source-address.ts";

function tableOf(lines: readonly (readonly [range: string, system: number])[]) {
  const builder = buildAsTable();
  for (const [text, system] of lines) {
    const range = parseRange(text);
    if (range === null) throw new Error(text);
    builder.add(range, system);
  }
  return builder.finish();
}

const table = tableOf([
  ["198.51.100.0/24", 64500],
  ["203.0.113.0/24", 64496],
  ["203.0.113.128/25", 64497],
  ["203.0.113.200/32", 0],
  ["192.0.2.0/24", 64499],
  ["192.0.2.0/24", 64510],
  ["2001:db8::/32", 64498],
  ["2001:db8:1::/48", 4_200_000_000],
  ["2001:db8:1::8/126", 64501],
]);

describe("a table of autonomous systems", () => {
  it.each([
    ["203.0.113.1", [64496]],
    ["203.0.113.129", [64497]],
    ["203.0.113.200", [0]],
    ["::ffff:203.0.113.129", [64497]],
    ["192.0.2.77", [64499, 64510]],
    ["2001:db8:ffff::1", [64498]],
    ["2001:db8:1::1", [4_200_000_000]],
    ["2001:db8:1::9", [64501]],
    ["2001:db9::1", []],
    ["10.0.0.1", []],
    ["not an address", []],
  ])("knows %s", (address, systems) => {
    expect(table.systemsOf(address)).toEqual(systems);
  });

  it("admits the addresses of a listed system, and nobody without a table", () => {
    expect(addressAllowed("203.0.113.129", ["AS64497"], table)).toBe(true);
    expect(addressAllowed("203.0.113.1", ["AS64497"], table)).toBe(false);
    expect(addressAllowed("192.0.2.1", ["AS1", "AS64510"], table)).toBe(true);
    expect(addressAllowed("10.0.0.1", ["AS64497", "10.0.0.0/8"], table)).toBe(true);
    expect(addressAllowed("2001:db8:1::1", ["AS4200000000"], table)).toBe(true);
    // 0 is what tables write for addresses that nobody announces.
    expect(addressAllowed("203.0.113.200", ["AS0", "AS64497"], table)).toBe(false);
    expect(addressAllowed("203.0.113.129", ["AS64497"], null)).toBe(false);
  });
});

test("agrees with a search through all lines, in whatever order they come", () => {
  const v4 = fc
    .tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 32 }))
    .map(([low, length]) => `203.0.113.${low * 64}/${length}`);
  const v6 = fc
    .tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 128 }))
    .map(([low, length]) => `2001:db8::${low}/${length}`);
  const lines = fc.array(fc.tuple(fc.oneof(v4, v6), fc.integer({ min: 1, max: 9 })), { maxLength: 40 });
  const address = fc.oneof(
    fc.integer({ min: 0, max: 255 }).map((low) => `203.0.113.${low}`),
    fc.integer({ min: 0, max: 8 }).map((low) => `2001:db8::${low}`),
  );
  fc.assert(
    fc.property(lines, address, (given, asked) => {
      const bits = parseAddress(asked);
      const ranges = given.flatMap(([text, system]) => {
        const range = parseRange(text);
        return range !== null && bits !== null && contains(range, bits) ? [{ range, system }] : [];
      });
      const longest = Math.max(-1, ...ranges.map(({ range }) => range.prefix));
      const expected = ranges.filter(({ range }) => range.prefix === longest).map(({ system }) => system);
      expect([...tableOf(given).systemsOf(asked)].sort()).toEqual(expected.sort());
    }),
    { numRuns: 500 },
  );
});
