import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { QueryText } from "../storage/row-index.ts";
import { dose } from "../tools/test-dose.ts";
import {
  isSpelling,
  misspeltWordsMax,
  queryWords,
  spellingsMax,
  spellingsOf,
  spellingsOfText,
  withSpellings,
} from "./text-analysis.ts";

/** Optimal string alignment distance, by the textbook's table: Damerau's four edits. */
function distance(a: string, b: string): number {
  const table = Array.from({ length: a.length + 1 }, (_, row) =>
    Array.from({ length: b.length + 1 }, (_, column) => (row === 0 ? column : column === 0 ? row : 0)),
  );
  const at = (row: number, column: number): number => table[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let row = 1; row <= a.length; row += 1) {
    for (let column = 1; column <= b.length; column += 1) {
      const isSame = a[row - 1] === b[column - 1];
      const isSwapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      const [cells = []] = [table[row]];
      cells[column] = Math.min(
        at(row - 1, column) + 1,
        at(row, column - 1) + 1,
        at(row - 1, column - 1) + (isSame ? 0 : 1),
        isSwapped ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
  }
  return at(a.length, b.length);
}

const letters = (alphabet: string, minLength: number, maxLength: number) =>
  fc.array(fc.constantFrom(...alphabet), { minLength, maxLength }).map((list) => list.join(""));

function textOf(q: string): QueryText {
  return { words: queryWords(q), fields: ["title"] };
}

describe("the spellings one edit away from a word", () => {
  it.each(["abc", "αβγ", "абв"])("are exactly those at a distance of 1, of the letters %s", (alphabet) => {
    fc.assert(
      fc.property(letters(alphabet, 5, 8), letters(alphabet, 4, 9), (word, other) => {
        expect(spellingsOf(word).includes(other)).toBe(distance(word, other) === 1);
      }),
      { numRuns: dose(2_000) },
    );
  });

  it("are all at a distance of 1, each once", () => {
    for (const word of ["bread", "diamond", "jewellers", "aaaaa", "λαμπα"]) {
      const spellings = spellingsOf(word);
      expect(new Set(spellings).size).toBe(spellings.length);
      for (const spelling of spellings) {
        expect(distance(word, spelling)).toBe(1);
        expect(isSpelling(spelling)).toBe(true);
      }
    }
    expect(spellingsOf("bread")).toEqual(expect.arrayContaining(["braed", "read", "broad"]));
  });

  it.each(["loaf", "x".repeat(25), "iphone15", "12345", "日本", "latinкирилл"])(
    "%s has none (M2)",
    (word) => {
      expect(spellingsOf(word)).toEqual([]);
    },
  );

  it("are bounded, also for the longest word", () => {
    expect(spellingsOf("abcdefghijklmnopqrstuvwx").length).toBeLessThan(1_300);
  });
});

describe("the misspellings of a text", () => {
  it("are those of the first words that can be misspelt (M2)", () => {
    const many = Array.from({ length: 12 }, (_, n) => `word${"abcdefghijkl"[n]}`);
    const counts = spellingsOfText(textOf(`ab 12345 ${many.join(" ")}`)).map(({ length }) => length);
    expect(counts.map((count) => count > 0)).toEqual([
      false,
      false,
      ...many.map((_, n) => n < misspeltWordsMax),
    ]);
  });

  it("include those of the plural and the singular, and not these themselves", () => {
    const [spellings = []] = spellingsOfText(textOf("jeweler"));
    expect(spellings).toContain("jewellers");
    expect(spellings).not.toContain("jewelers");
  });

  it("count if they occur, and at most so many of a word (M3)", () => {
    const text = textOf("braed of");
    const found = withSpellings(text, spellingsOfText(text), (term) =>
      ["bread", "of", "other"].includes(term),
    );
    expect(found?.words.map(({ spellings }) => spellings)).toEqual([["bread"], []]);
    const all = withSpellings(text, spellingsOfText(text), () => true);
    expect(all?.words[0]?.spellings).toEqual(spellingsOf("braed").slice(0, spellingsMax));
    expect(all?.words[0]?.spellings).toHaveLength(spellingsMax);
  });

  it("do not matter where a word has nothing that occurs, or where nothing is added", () => {
    expect(
      withSpellings(textOf("braed of"), spellingsOfText(textOf("braed of")), (term) => term === "bread"),
    ).toBeNull();
    expect(
      withSpellings(textOf("bread of"), spellingsOfText(textOf("bread of")), (term) =>
        ["bread", "of"].includes(term),
      ),
    ).toBeNull();
  });
});
