import { describe, expect, it } from "vitest";
import { collections } from "./collections.ts";
import { impactMax, termImpact, wordTerms } from "./text-analysis.ts";

describe("the impact of a term", () => {
  it("is a whole number from 1 to its greatest, and 0 where the term is not", () => {
    for (const length of [1, 2, 16, 300, 65_535, 1_000_000]) {
      for (const frequency of [1, 2, 9, 255, 256, 70_000]) {
        const impact = termImpact(frequency, length);
        expect(Number.isInteger(impact)).toBe(true);
        expect(impact).toBeGreaterThanOrEqual(1);
        expect(impact).toBeLessThanOrEqual(impactMax);
      }
      expect(termImpact(0, length)).toBe(0);
    }
  });

  it("grows with the times that the term occurs, and falls with the length of the text", () => {
    const texts = Array.from({ length: 8 }, (_, n) => n + 1);
    expect(texts.map((times) => termImpact(times, 8))).toEqual([73, 92, 102, 107, 110, 113, 115, 116]);
    expect([1, 2, 4, 8, 16, 32, 64, 128].map((length) => termImpact(1, length))).toEqual([
      94, 90, 83, 73, 58, 41, 26, 15,
    ]);
  });

  it("of all text fields together is a number that nine bits hold", () => {
    for (const { textFields } of Object.values(collections)) {
      expect(textFields.length * impactMax).toBeLessThan(512);
    }
  });
});

describe("the terms of a word", () => {
  it("are so far apart that the impacts in all text fields never make up for it", () => {
    const word = { exact: "shoes", forms: ["shoe"], spellings: ["shows", "shove"] };
    const bonuses = wordTerms(word).map(({ bonus }) => bonus);
    expect(wordTerms(word).map(({ term }) => term)).toEqual(["shoes", "shoe", "shows", "shove"]);
    const [exact = 0, form = 0, misspelt = 0, other] = bonuses;
    const fieldsMax = Math.max(...Object.values(collections).map(({ textFields }) => textFields.length));
    expect(exact - form).toBeGreaterThan(fieldsMax * impactMax);
    expect(form - misspelt).toBeGreaterThan(fieldsMax * impactMax);
    expect(other).toBe(misspelt);
  });
});
