import { expect, it } from "vitest";
import { ownNames, ownNamesBytesMax } from "./company-name-rule.ts";

it.each([
  ["Diamonds Ltd", ["diamonds ltd", "diamonds"]],
  ["Kestrel GmbH & Co. KG", ["kestrel gmbh co kg", "kestrel"]],
  ["Müller und Co. S.p.A.", ["muller und co s p a", "muller"]],
  ["Łódź Sp. z o.o.", ["lodz sp z o o", "lodz"]],
  ["Harbour Lane", ["harbour lane"]],
  ["Company Ltd", ["company ltd", "company"]],
  ["Ltd", ["ltd"]],
  ["!", []],
])("knows a business by its legal name, with and without the legal form: %s", (legalName, names) => {
  expect(ownNames([legalName], [])).toEqual(names);
});

it("knows the names that the operator assigns, and each name once", () => {
  expect(ownNames(["Lane Ltd", "LANE LTD"], ["Lane", "Own Brand", "own brand"])).toEqual([
    "lane ltd",
    "lane",
    "own brand",
  ]);
});

it("keeps a bounded number of bytes, the legal name before all", () => {
  const assigned = Array.from({ length: 1_000 }, (_, index) => `${"ﷺ".repeat(10)} ${index}`);
  const names = ownNames(["Lane Ltd"], assigned);
  expect(names.slice(0, 2)).toEqual(["lane ltd", "lane"]);
  expect(names.length).toBeGreaterThan(10);
  expect(Buffer.byteLength(names.join(""))).toBeLessThanOrEqual(ownNamesBytesMax);
});
