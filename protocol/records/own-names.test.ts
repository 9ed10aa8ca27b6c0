import { expect, it } from "vitest";
import { ownNames } from "./own-names.ts";

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
  expect(ownNames(legalName, [])).toEqual(names);
});

it("knows what its business files name, each name once", () => {
  const files = [
    {
      business_name: "Lane",
      brands_owned: [{ name: "LANE" }, { name: "Own" }],
      brands_sold: [{ name: "Sold" }],
    },
    { business_name: 1, brands_owned: null, brands_sold: [1, { name: [] }, { name: "More" }] },
    {},
  ];
  expect(ownNames("Lane", files)).toEqual(["lane", "own", "sold", "more"]);
});

it("keeps a bounded number of names, the legal name before all", () => {
  const brands_sold = Array.from({ length: 1_000 }, (_, index) => ({ name: `Brand ${index}` }));
  const names = ownNames("Lane Ltd", [{ brands_sold }]);
  expect(names).toHaveLength(300);
  expect(names.slice(0, 3)).toEqual(["lane ltd", "lane", "brand 0"]);
});
