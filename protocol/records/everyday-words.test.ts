import { expect, it } from "vitest";
import { isEverydayName } from "./company-name-rule.ts";

it("knows the words of a dictionary in each of their forms, and the terms of the vocabularies", () => {
  const everyday = [
    "Organic",
    "ORGANICS",
    "Bakery",
    "Cities",
    "Crafted",
    "Biggest",
    "Café",
    "Vegan",
    "zebra",
    "Abandon",
  ];
  const terms = ["Safety equipment", "fashion_accessories", "Victoria", "France", "Swedish", "Euro"];
  for (const name of [...everyday, ...terms]) expect([name, isEverydayName(name)]).toEqual([name, true]);
});

it("knows no name that somebody made up, nor one of several words", () => {
  for (const name of [
    "Lindqvist & Rowe",
    "Saltmarsh",
    "Kodak",
    "Organic Valley",
    "Red Bull",
    "Fellside Mills",
    "",
  ])
    expect([name, isEverydayName(name)]).toEqual([name, false]);
});
