import { describe, expect, it } from "vitest";
import { numberForms } from "./text-analysis.ts";

const pairs: readonly (readonly [singular: string, plural: string])[] = [
  ["diamond", "diamonds"],
  ["shoe", "shoes"],
  ["battery", "batteries"],
  ["day", "days"],
  ["movie", "movies"],
  ["box", "boxes"],
  ["dress", "dresses"],
  ["watch", "watches"],
  ["dish", "dishes"],
  ["bus", "buses"],
  ["house", "houses"],
  ["axe", "axes"],
  ["axis", "axes"],
  ["analysis", "analyses"],
  ["potato", "potatoes"],
  ["photo", "photos"],
  ["loaf", "loaves"],
  ["knife", "knives"],
  ["roof", "roofs"],
  ["glove", "gloves"],
  ["cliff", "cliffs"],
  ["lens", "lenses"],
  ["cafe", "cafes"],
  ["child", "children"],
  ["woman", "women"],
  ["person", "people"],
  ["tooth", "teeth"],
  ["women", "womens"],
  ["salaries", "salarys"],
  ["potatos", "potatoes"],
  ["child", "childs"],
];

describe("singular and plural", () => {
  it.each(pairs)("%s and %s are forms of each other", (singular, plural) => {
    expect(numberForms(singular)).toContain(plural);
    expect(numberForms(plural)).toContain(singular);
  });

  it("are forms of each other in both directions, whatever the word", () => {
    for (const word of pairs.flat())
      for (const form of numberForms(word)) expect([form, ...numberForms(form)]).toContain(word);
  });

  it.each(["as", "e", "x1", "iphone15", "日本", "жуки", "series"])("%s has no other form", (word) => {
    expect(numberForms(word)).toEqual([]);
  });

  it.each([
    ["new", "news"],
    ["glas", "glass"],
    ["bed", "bedding"],
    ["run", "running"],
    ["sho", "shoes"],
    ["cafe", "caves"],
  ])("%s and %s are different words", (a, b) => {
    expect(numberForms(a)).not.toContain(b);
    expect(numberForms(b)).not.toContain(a);
  });

  it("are few for each word", () => {
    for (const word of pairs.flat()) expect(numberForms(word).length).toBeLessThanOrEqual(6);
  });
});
