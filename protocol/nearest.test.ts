import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nearestName } from "./shape.ts";

const fields = ["price_amount", "price_currency", "brand", "country", "on_sale", "tags"];

describe("the nearest name", () => {
  it.each([
    ["price_amuont", "price_amount"],
    ["price_amount", "price_amount"],
    ["price-amount", "price_amount"],
    ["Brand", "brand"],
    ["brnad", "brand"],
    ["brands", "brand"],
    ["contry", "country"],
    ["onsale", "on_sale"],
    ["tag", "tags"],
  ])("to %s is %s", (name, expected) => {
    expect(nearestName(name, fields)).toBe(expected);
  });

  it.each(["", "x", "salary", "constructor", "z".repeat(10_000)])("to %s is none", (name) => {
    expect(nearestName(name, fields)).toBeNull();
  });

  it("is none among none, and the first of those equally near", () => {
    expect(nearestName("brand", [])).toBeNull();
    expect(nearestName("tagx", ["tags", "tagz"])).toBe("tags");
  });

  it("is found again after one slip of the hand", () => {
    const slip = fc.record({
      name: fc.constantFrom(...fields),
      at: fc.nat(),
      kind: fc.constantFrom("drop", "swap", "double"),
    });
    fc.assert(
      fc.property(slip, ({ name, at, kind }) => {
        const index = at % (name.length - 1);
        const [before, one, two, after] = [
          name.slice(0, index),
          name[index],
          name[index + 1],
          name.slice(index + 2),
        ];
        const slipped = {
          drop: before + one + after,
          swap: before + two + one + after,
          double: before + one + one + two + after,
        };
        expect(nearestName(slipped[kind], fields)).toBe(name);
      }),
    );
  });
});
