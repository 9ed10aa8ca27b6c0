import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Bits, countBits, hasBit, intersect, numbersOf, unite, withBit } from "./row-terms.ts";

const numbers = fc.uniqueArray(fc.oneof(fc.nat(70), fc.nat(5_000), fc.constantFrom(0, 31, 32, 63, 64)), {
  maxLength: 60,
});

function bitsOf(members: readonly number[]): Bits {
  return members.reduce((bits, number) => withBit(bits, number, true), new Uint32Array(0) as Bits);
}

describe("a set of bits", () => {
  it("holds what was put in and not taken out again", () => {
    fc.assert(
      fc.property(numbers, numbers, (added, removed) => {
        const bits = removed.reduce((left, number) => withBit(left, number, false), bitsOf(added));
        const expected = added.filter((number) => !removed.includes(number)).sort((a, b) => a - b);
        expect([...numbersOf(bits, countBits(bits))]).toEqual(expected);
        for (const number of [...added, ...removed, 6_000])
          expect(hasBit(bits, number)).toBe(expected.includes(number));
      }),
    );
  });

  it("has in common with others what is in all of them", () => {
    fc.assert(
      fc.property(fc.array(numbers, { minLength: 1, maxLength: 4 }), (sets) => {
        const common = intersect(sets.map(bitsOf));
        const [first = [], ...others] = sets;
        const expected = first.filter((number) => others.every((set) => set.includes(number)));
        expect([...numbersOf(common, countBits(common))]).toEqual(expected.sort((a, b) => a - b));
      }),
    );
  });

  it("has with another what is in one of the two, and leaves both as they are", () => {
    fc.assert(
      fc.property(numbers, numbers, (a, b) => {
        const [first, second] = [bitsOf(a), bitsOf(b)];
        const all = unite(first, second);
        const sorted = (some: Iterable<number>) => [...new Set(some)].sort((x, y) => x - y);
        expect([...numbersOf(all, countBits(all))]).toEqual(sorted([...a, ...b]));
        expect([...numbersOf(first, countBits(first))]).toEqual(sorted(a));
        expect([...numbersOf(second, countBits(second))]).toEqual(sorted(b));
      }),
    );
  });
});
