import { describe, expect, it } from "vitest";
import { isCountry } from "../../identifiers.ts";
import { countries } from "./countries.ts";
import { currencies } from "./currencies.ts";
import { languages } from "./languages.ts";
import { categoryCodes, taxonomyLists, verticalCodes, verticalOf, verticals } from "./taxonomy.ts";
import { timeZones } from "./time-zones.ts";
import { vocabularyDocument, vocabularyNames } from "./vocabulary-document.ts";

const lists = [countries, currencies, languages, timeZones, verticalCodes, categoryCodes, ...taxonomyLists];

describe("the vocabularies", () => {
  it("have no code twice and a name for each", () => {
    for (const list of lists) {
      expect([list.name, list.codes.size]).toEqual([list.name, list.entries.length]);
      for (const entry of list.entries) expect(entry.name.length).toBeGreaterThan(0);
    }
  });

  it("are complete: 249 countries (ISO 3166-1), 183 languages (ISO 639-1)", () => {
    expect(countries.codes.size).toBe(249);
    expect(languages.codes.size).toBe(183);
    for (const code of countries.codes) expect(isCountry(code)).toBe(true);
    for (const code of ["USD", "EUR", "JPY", "GBP", "CHF", "INR"])
      expect(currencies.codes.has(code)).toBe(true);
    for (const code of currencies.codes) expect(code).toMatch(/^[A-Z]{3}$/);
  });

  it("name time zones that exist", () => {
    for (const zone of timeZones.codes) {
      expect(() => new Intl.DateTimeFormat("en", { timeZone: zone })).not.toThrow();
    }
  });

  it("use lower_snake codes of our own, and each category belongs to one vertical", () => {
    for (const list of [verticalCodes, categoryCodes, ...taxonomyLists]) {
      for (const code of list.codes) expect(code).toMatch(/^[a-z0-9]+(_[a-z0-9]+)*$/);
    }
    expect(verticals.length).toBe(21);
    expect(verticalOf("diamonds")).toBe("jewelry_watches");
    expect(verticalOf("jewelry_watches")).toBeUndefined();
  });

  it("are published by name, and only the versions that exist", () => {
    for (const name of vocabularyNames) {
      expect(vocabularyDocument(name)).toMatchObject({ name, version: 1 });
      expect(vocabularyDocument(name, 1)).toBe(vocabularyDocument(name));
      expect(vocabularyDocument(name, 2)).toBeNull();
    }
  });
});
