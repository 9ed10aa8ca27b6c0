// The codes of the vocabularies are those of their standards, as packages and the runtime's own data know them.

import { readFileSync } from "node:fs";
import { iso31661, iso31662 } from "iso-3166";
import { describe, expect, it } from "vitest";
import { countries } from "../protocol/records/vocabularies/countries.ts";
import { currencies } from "../protocol/records/vocabularies/currencies.ts";
import { languages } from "../protocol/records/vocabularies/languages.ts";
import { subdivisions } from "../protocol/records/vocabularies/subdivisions.ts";
import { timeZones } from "../protocol/records/vocabularies/time-zones.ts";
import { subdivisionFiles } from "./subdivisions.ts";

const sorted = (codes: Iterable<string>): readonly string[] => [...codes].sort();
const missing = (from: ReadonlySet<string>, codes: Iterable<string>): readonly string[] =>
  sorted(codes).filter((code) => !from.has(code));

describe("the subdivisions", () => {
  it("stand in the repository as the package has them", () => {
    for (const [path, text] of subdivisionFiles()) expect(readFileSync(path, "utf8"), path).toBe(text);
  });

  it("are all that the package has, with its names", () => {
    const listed = subdivisions.entries.map(({ code, name }) => `${code} ${name}`);
    expect(sorted(listed)).toEqual(sorted(iso31662.map(({ code, name }) => `${code} ${name}`)));
  });
});

it("the countries are the assigned codes of ISO 3166-1", () => {
  const assigned = iso31661.filter(({ state }) => state === "assigned").map(({ alpha2 }) => alpha2);
  expect(sorted(countries.codes)).toEqual(sorted(assigned));
});

/** Two-letter codes that the Unicode CLDR names and does not replace by another; those that it has beyond the standard. */
const notOfTheStandard = ["bh"];
/** Of the standard, and replaced by a code of three letters in the CLDR: Tagalog by Filipino. */
const replaced = ["tl"];

it("the languages are the codes of ISO 639-1", () => {
  const letters = [..."abcdefghijklmnopqrstuvwxyz"];
  const names = new Intl.DisplayNames("en", { type: "language", fallback: "none" });
  const known = letters
    .flatMap((first) => letters.map((second) => first + second))
    .filter((code) => Intl.getCanonicalLocales(code)[0] === code && names.of(code) !== undefined);
  const expected = known.filter((code) => !notOfTheStandard.includes(code)).concat(replaced);
  expect(sorted(languages.codes)).toEqual(sorted(expected));
});

/** The runtime lists these zones by names that the time zone database keeps as aliases. */
const renamed: Readonly<Record<string, string>> = {
  "Africa/Asmera": "Africa/Asmara",
  "America/Buenos_Aires": "America/Argentina/Buenos_Aires",
  "America/Catamarca": "America/Argentina/Catamarca",
  "America/Coral_Harbour": "America/Atikokan",
  "America/Cordoba": "America/Argentina/Cordoba",
  "America/Godthab": "America/Nuuk",
  "America/Indianapolis": "America/Indiana/Indianapolis",
  "America/Jujuy": "America/Argentina/Jujuy",
  "America/Louisville": "America/Kentucky/Louisville",
  "America/Mendoza": "America/Argentina/Mendoza",
  "Asia/Calcutta": "Asia/Kolkata",
  "Asia/Katmandu": "Asia/Kathmandu",
  "Asia/Rangoon": "Asia/Yangon",
  "Asia/Saigon": "Asia/Ho_Chi_Minh",
  "Atlantic/Faeroe": "Atlantic/Faroe",
  "Europe/Kiev": "Europe/Kyiv",
  "Pacific/Enderbury": "Pacific/Kanton",
  "Pacific/Ponape": "Pacific/Pohnpei",
  "Pacific/Truk": "Pacific/Chuuk",
};

it("the time zones are all that the runtime knows, and UTC", () => {
  const zones = Intl.supportedValuesOf("timeZone").map((zone) => renamed[zone] ?? zone);
  expect(sorted(timeZones.codes)).toEqual(sorted(new Set([...zones, "UTC"])));
});

/** Newer than the runtime's list: the bolívar digital, which circulates beside VES under a code of its own. */
const newerCurrencies = ["VED"];

it("the currencies are codes of ISO 4217 that the runtime knows", () => {
  const known = new Set([...Intl.supportedValuesOf("currency"), ...newerCurrencies]);
  expect(missing(known, currencies.codes)).toEqual([]);
});
