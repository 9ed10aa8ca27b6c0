import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { companyWords, findCompany } from "./company-name-rule.ts";
import type { TextRole } from "./fields.ts";
import { foldedWords, writtenText } from "./fold-text.ts";
import { createNameIndex } from "./name-index.ts";

const certified = [
  "Apple Ltd",
  "Orange SA",
  "Parallax, Inc.",
  "Northwind Traders Ltd",
  "GARDEN FURNITURE GMBH",
  "Bank of Wales plc",
  "Saltmarsh Bakery & Café Ltd",
  "Kestrel GmbH & Co. KG",
  "华为技术有限公司",
  "삼성",
  "24/7 Ltd",
  "Studio 54 Ltd",
  "LinkedLane Ltd",
  "Summit Limited",
];
const index = createNameIndex(certified.map(companyWords));

function named(text: string, given: { role?: TextRole; language?: string; own?: readonly string[] } = {}) {
  const { role = "speech", language = "en", own = [] } = given;
  const ownNames = createNameIndex(own.map(foldedWords));
  return findCompany({ text, role, language }, foldedWords(text), index, (words) => (match) => {
    let isFree = false;
    ownNames.some(words, ({ start, end }) => {
      isFree ||= start <= match.start && end >= match.end;
      return false;
    });
    return isFree;
  });
}

describe("a certified company is named", () => {
  it.each([
    ["with its legal form, however it is written (N1)", "apple ltd makes them", "apple"],
    ["with another legal form", "Not from Apple, Inc.", "Apple"],
    ["with a form in dots", "by kestrel S.r.l. or others", "kestrel"],
    ["with a form that may be a word, in its own spelling", "Orange SA sells them", "Orange"],
    ["with a form that may be a word, dotted", "Orange S.p.A. sells them", "Orange"],
    ["with a form like a word", "Summit Limited is far away", "Summit"],
    ["with two forms", "Kestrel & Co. KG", "Kestrel"],
    [
      "of three long words, however it is written (N2)",
      "unlike saltmarsh bakery cafe",
      "saltmarsh bakery cafe",
    ],
    ["of two words with capitals (N3)", "Better than Northwind Traders", "Northwind Traders"],
    ["of two words at the beginning", "Northwind Traders are slow", "Northwind Traders"],
    ["of two words in a title", "Original Northwind Traders Shoe", "Northwind Traders"],
    ["of two words in capitals", "NORTHWIND-TRADERS style", "NORTHWIND-TRADERS"],
    ["of two words in the possessive", "in Northwind Traders’s shop", "Northwind Traders’s"],
    ["with small words inside", "not from Bank of Wales", "Bank of Wales"],
    ["with a number", "as seen in Studio 54", "Studio 54"],
    ["by one word with a capital (N4)", "Better than Parallax", "Parallax"],
    ["by one word in the possessive", "works like Apple's do", "Apple's"],
    ["by one word in brackets", "works with phones (Apple) and others", "Apple"],
    ["by one word with a hyphen behind it", "the new Orange-compatible card", "Orange"],
    ["by a word with a capital inside, anywhere", "LinkedLane is slow", "LinkedLane"],
    ["with accents and invisible characters", "Better than Pàra\u00adllax", "Pàrallax"],
    ["in a script without capitals", "比 华为技术有限公司 好", "华为技术有限公司"],
  ])("%s", (_, text, found) => {
    expect(named(text)).toBe(found);
  });

  it("by a name that is its name and nothing else (N5)", () => {
    expect(named("apple", { role: "name" })).toBe("apple");
    expect(named("APPLE'S", { role: "name" })).toBe("APPLE'S");
    expect(named("apple valley", { role: "name" })).toBeNull();
    expect(named("apple")).toBeNull();
  });
});

describe("words that a company is called by name nobody", () => {
  it.each([
    ["in small letters", "fresh apple juice with orange, seen in parallax"],
    ["at the beginning of a text", "Orange marmalade from small farms"],
    ["at the beginning of a sentence", "Made by hand. Apple and pear are in it."],
    ["after a colon or a dash", "Flavours: Orange and pear – Apple and plum"],
    ["on a line of its own", "what is in it\nOrange\nApple"],
    ["in a title", "Cold Pressed Apple Juice"],
    ["in a sentence of capitals", "BUY APPLE JUICE NOW"],
    ["as a tag", "Orange"],
    ["in the plural", "we press the best Apples by hand"],
    ["as two words in small letters", "oak garden furniture for terraces"],
    ["as two words, the second small", "Garden furniture made of oak"],
    ["as part of other words", "Northwind Trader of pineapples"],
    ["before a word that may be a legal form", "an orange as big as a melon, orange se vende aqui"],
    ["before a form in a title", "Summit Limited Edition Jacket"],
    ["as a number", "open 24/7 for you"],
    ["in two letters without capitals", "삼성"],
  ])("%s: %s", (_, text) => {
    expect(named(text)).toBeNull();
  });

  it("in a language that writes every noun with a capital", () => {
    const text = "ein frischer Saft aus Orange und Apfel";
    expect(named(text, { language: "de" })).toBeNull();
    expect(named(text)).toBe("Orange");
    expect(named("besser als Northwind Traders", { language: "de" })).toBe("Northwind Traders");
    expect(named("besser als Orange SA", { language: "de" })).toBe("Orange");
  });

  it("as part of a longer name that the business may say", () => {
    const own = ["apple pie"];
    expect(named("try the best Apple Pie today", { own })).toBeNull();
    expect(named("try the best Apple Pie of Apple today", { own })).toBe("Apple");
  });
});

it("sees a text's words as they are folded, whatever they are written with", () => {
  const piece = fc.oneof(
    fc.constantFrom(
      "Apple",
      "ß",
      "İ",
      "½",
      "ﬁ",
      "´",
      "'",
      "’",
      "ʼ",
      " ",
      ".",
      "\u0301",
      "\u00ad",
      "Ø",
      "ﷺ",
      "٣",
      "ｱ",
    ),
    fc.string({ unit: "binary", maxLength: 3 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = pieces.join("").toWellFormed();
      const words = foldedWords(text);
      const written = writtenText(text, words);
      expect(written.words.map(({ folded }) => folded)).toEqual(words);
      for (const word of written.words) {
        expect(written.text.slice(word.start, word.end)).toBe(word.written);
        expect(foldedWords(word.written)).toEqual([word.folded]);
      }
    }),
    { numRuns: 2_000 },
  );
});

it("takes time by the length of the text, whatever is in it", () => {
  const many = createNameIndex([["apple"], ["apple", "apple"], ...certified.map(companyWords)]);
  const findIn = (text: string): string | null =>
    findCompany({ text, role: "speech", language: "en" }, foldedWords(text), many, () => () => true);
  const from = performance.now();
  for (const piece of ["x Apple ", "x APPLE, ", "x apple's ", "Apple Apple "]) findIn(piece.repeat(20_000));
  // It normally takes a tenth of this; examining the sentence once for each name in it would take minutes.
  expect(performance.now() - from).toBeLessThan(10_000);
});
