import { describe, expect, it } from "vitest";
import { isCountry } from "../../identifiers.ts";
import { canonicalBytes } from "../../json/canonical-json.ts";
import { parseRecord } from "../parse-record.ts";
import { sampleRecords } from "../records.fixture.ts";
import { countries } from "./countries.ts";
import { currencies } from "./currencies.ts";
import { languages } from "./languages.ts";
import { subdivisionPattern } from "./subdivision-codes.ts";
import { subdivisions } from "./subdivisions.ts";
import { categoryCodes, taxonomyLists, verticalCodes, verticalOf, verticals } from "./taxonomy.ts";
import { timeZones } from "./time-zones.ts";
import { vocabularyDocument, vocabularyNames } from "./vocabulary-document.ts";

const lists = [
  countries,
  currencies,
  languages,
  subdivisions,
  timeZones,
  verticalCodes,
  categoryCodes,
  ...taxonomyLists,
];

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
      const version = name === "subdivisions" ? 2 : 1;
      expect(vocabularyDocument(name)).toMatchObject({ name, version });
      expect(vocabularyDocument(name, version)).toBe(vocabularyDocument(name));
      expect(vocabularyDocument(name, version + 1)).toBeNull();
    }
  });
});

describe("the subdivisions", () => {
  it("are codes of ISO 3166-2, each once, of assigned countries", () => {
    expect(subdivisions.entries).toHaveLength(5_070);
    expect(subdivisions.codes.size).toBe(5_070);
    for (const { code, name } of subdivisions.entries) {
      expect(code).toMatch(new RegExp(subdivisionPattern));
      expect(countries.codes.has(code.slice(0, 2)), code).toBe(true);
      expect(name).not.toBe(code);
    }
    for (const code of [
      "US-CA",
      "CA-ON",
      "GB-ENG",
      "GB-LDS",
      "DE-BY",
      "FR-75C",
      "IN-MH",
      "CN-SH",
      "BR-SP",
      "AD-02",
      "ZW-MW",
    ])
      expect(subdivisions.codes.has(code), code).toBe(true);
    const names = new Map(subdivisions.entries.map(({ code, name }) => [code, name]));
    expect([names.get("US-CA"), names.get("AD-02"), names.get("ZW-MW")]).toEqual([
      "California",
      "Canillo",
      "Mashonaland West",
    ]);
  });

  it("keep their first version", () => {
    expect(vocabularyDocument("subdivisions")).toMatchObject({ version: 2, entries: subdivisions.entries });
    expect(vocabularyDocument("subdivisions", 1)).toMatchObject({ version: 1, pattern: subdivisionPattern });
    expect(vocabularyDocument("subdivisions", 3)).toBeNull();
  });

  it.each([
    ["US-CA", []],
    ["US-ZZZ", ["value_invalid /region"]],
    ["ZZ-CA", ["value_invalid /region"]],
    ["us-ca", ["value_invalid /region"]],
  ])("judge a record's region: %s", (region, faults) => {
    const bytes = canonicalBytes({ ...sampleRecords.events, region });
    const parsed = parseRecord("events", bytes);
    expect(parsed.ok ? [] : parsed.faults.map(({ code, pointer }) => `${code} ${pointer}`)).toEqual(faults);
  });
});
