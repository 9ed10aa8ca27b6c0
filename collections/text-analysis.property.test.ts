import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { foldText } from "../protocol/records/fold-text.ts";
import { analyse, queryWords } from "./text-analysis.ts";

const anyText = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 40 }),
  fc.string({ unit: "binary", maxLength: 40 }).map((text) => text.toWellFormed()),
  fc
    .array(
      fc.constantFrom(
        "Straße",
        "café",
        "日本語",
        "タイ",
        "don't",
        "ΣΊΣΥΦΟΣ",
        "x",
        "iPhone15",
        "ﬃ",
        "İstanbul",
        " ",
        "-",
      ),
      { maxLength: 6 },
    )
    .map((parts) => parts.join("")),
);

describe("text analysis", () => {
  it.each<readonly [string, readonly string[]]>([
    ["Trail-Runner 3, waterproof!", ["trail", "runner", "3", "waterproof"]],
    ["CAFÉ Ångström Straße Łódź", ["cafe", "angstrom", "strasse", "lodz"]],
    ["women’s women's", ["womens", "womens"]],
    ["ﬃ ① ｆｕｌｌ", ["ffi", "1", "full"]],
    ["ΣΊΣΥΦΟΣ", ["σισυφοσ"]],
    ["日本語 を", ["日本", "本語", "を"]],
    ["iPhone15ケース", ["iphone15", "ケー", "ース"]],
    ["हिन्दी", ["हिन्दी"]],
    [
      "shoes batteries movies movie boxes watches dresses potatoes",
      ["shoes", "batteries", "movies", "movie", "boxes", "watches", "dresses", "potatoes"],
    ],
    ["glass bus tennis gas as series", ["glass", "bus", "tennis", "gas", "as", "series"]],
    ["bedding ring running", ["bedding", "ring", "running"]],
    ["1.5 €9", ["1", "5", "9"]],
    ["!?", []],
  ])("of %j gives %j", (text, terms) => {
    expect(analyse(text)).toEqual(terms);
  });

  it("gives terms that survive being joined by spaces", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const terms = analyse(text);
        for (const term of terms) {
          expect(term).toMatch(/^[\p{L}\p{N}\p{M}]+$/u);
          expect(term.isWellFormed()).toBe(true);
          expect(term.length).toBeLessThanOrEqual(64);
          expect(term).toBe(term.replace(/[A-Z]/g, ""));
        }
        expect(terms.length === 0 ? [] : terms.join(" ").split(" ")).toEqual(terms);
      }),
      { numRuns: 500 },
    );
  });

  it("reads each text the same whatever stands beside it, so that a query for a word finds it", () => {
    fc.assert(
      fc.property(anyText, anyText, (a, b) => {
        expect(analyse(`${a} ${b}`)).toEqual([...analyse(a), ...analyse(b)]);
      }),
      { numRuns: 500 },
    );
  });

  it("folds to what folds to itself", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(foldText(foldText(text))).toBe(foldText(text));
      }),
      { numRuns: 1000 },
    );
  });

  it("gives each word of a query once, with its singular or plural", () => {
    expect(queryWords("red Red réd shoes 日本語")).toEqual([
      { exact: "red", forms: ["reds"] },
      { exact: "shoes", forms: ["shoe"] },
      { exact: "日本", forms: [] },
      { exact: "本語", forms: [] },
    ]);
  });

  it("cuts a long word without splitting a character", () => {
    expect(analyse("\u{20bb7}".repeat(40))).toEqual(Array(39).fill("\u{20bb7}\u{20bb7}"));
    expect(analyse(`a${"\u{10428}".repeat(40)}`)[0]).toHaveLength(63);
    expect(analyse("x".repeat(500))).toEqual(["x".repeat(64)]);
  });
});
