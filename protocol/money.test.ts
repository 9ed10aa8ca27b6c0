import fc from "fast-check";
import { expect, it } from "vitest";
import { decimalOf, millionthsOf } from "./price-list.ts";

it.each([
  ["0", "0"],
  ["10", "10"],
  ["10.50", "10.5"],
  ["0.000001", "0.000001"],
  ["999999999999999.999999", "999999999999999.999999"],
])("the millionths of %s are written %s, and below zero with a sign", (text, written) => {
  expect(decimalOf(millionthsOf(text))).toBe(written);
  expect(decimalOf(-millionthsOf(text))).toBe(written === "0" ? "0" : `-${written}`);
});

it("a decimal is read as the number that it was written from (property)", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 21n }), (millionths) => {
      expect(millionthsOf(decimalOf(millionths))).toBe(millionths);
    }),
  );
});
