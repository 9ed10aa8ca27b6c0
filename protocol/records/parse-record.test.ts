import { describe, expect, it } from "vitest";
import { utf8 } from "../bytes.ts";
import { type CollectionName, collectionNames } from "../identifiers.ts";
import type { JsonObject, JsonValue } from "../json/canonical-json.ts";
import { recordFaultsMax } from "./fields.ts";
import { parseRecord, recordTypes } from "./parse-record.ts";
import { sampleRecords } from "./records.fixture.ts";
import { countries as countryList } from "./vocabularies/countries.ts";

function faultsOf(record: JsonValue, collection: CollectionName = "products"): readonly string[] {
  const outcome = parseRecord(collection, utf8(JSON.stringify(record)));
  return outcome.ok ? [] : outcome.faults.map((fault) => `${fault.code} ${fault.pointer}`);
}

function product(changes: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  const record: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries({ ...sampleRecords.products, ...changes })) {
    if (value !== undefined) record[name] = value;
  }
  return record;
}

describe("a record", () => {
  it.each(collectionNames)("of %s is accepted when every member is right", (collection) => {
    const outcome = parseRecord(collection, utf8(JSON.stringify(sampleRecords[collection])));
    expect(outcome).toEqual({ ok: true, record: sampleRecords[collection] });
  });

  it.each(collectionNames)("of %s needs each of its required members and no optional one", (collection) => {
    for (const [name, field] of Object.entries(recordTypes[collection].members)) {
      const { [name]: _, ...rest } = sampleRecords[collection];
      const expected = field.optional === true ? [] : [`member_missing /${name}`];
      if (name === "destination_url") expected.push("member_missing /destination_url");
      if (name === "price_min" || name === "price_max" || name === "price_currency")
        expected.push(`member_missing /${name}`);
      expect(faultsOf(rest, collection)).toEqual(expected);
    }
  });

  it("is answered with all its faults at once", () => {
    const wrong = product({
      product_name: 7,
      prices: [
        { country: "US", currency: "USD", amount: 9.99 },
        { country: "CA", currency: "RMB", amount: "1,50" },
      ],
      availability: "in_stok",
      product_ur: "https://harrier.example/",
      product_url: undefined,
    });
    const outcome = parseRecord("products", utf8(JSON.stringify(wrong)));
    expect(outcome.ok ? [] : outcome.faults).toMatchObject([
      { code: "type_invalid", pointer: "/product_name" },
      { code: "money_not_string", pointer: "/prices/0/amount" },
      { code: "vocabulary_unknown", pointer: "/prices/1/currency", suggestion: "CNY" },
      { code: "value_invalid", pointer: "/prices/1/amount" },
      { code: "vocabulary_unknown", pointer: "/availability", suggestion: "in_stock" },
      { code: "member_unknown", pointer: "/product_ur", suggestion: "product_url" },
      { code: "member_missing", pointer: "/product_url" },
    ]);
  });

  it.each([
    ["country", "UK", "GB"],
    ["country", "Uk", "GB"],
    ["country", "EL", "GR"],
    ["country", "USA", "US"],
    ["country", "jp", "JP"],
    ["country", "QQ", undefined],
    ["country", "DEX", undefined],
    ["currency", "RMB", "CNY"],
    ["currency", "EURO", "EUR"],
    ["currency", "US$", "USD"],
    ["currency", "EUX", undefined],
    ["language", "dk", "da"],
    ["language", "EN", "en"],
    ["language", "KR", "ko"],
    ["language", "CH", undefined],
    ["availability", "in_stok", "in_stock"],
  ])("with the %s %s is told of %s, or of none where nobody can know", (member, code, suggestion) => {
    const price = { country: "US", currency: "USD", amount: "1" };
    const wrong = {
      country: { countries: [code] },
      currency: { prices: [{ ...price, currency: code }] },
    }[member] ?? { [member]: code };
    const outcome = parseRecord("products", utf8(JSON.stringify(product(wrong))));
    const faults = outcome.ok ? [] : outcome.faults;
    expect(faults.find(({ code: each }) => each === "vocabulary_unknown")?.suggestion).toBe(suggestion);
  });

  it("is judged by its schema string", () => {
    expect(faultsOf(product({ schema: "svc/products/2" }))).toEqual(["version_unknown /schema"]);
    expect(faultsOf(product({ schema: "svc/events/1" }))).toEqual(["record_type_mismatch /schema"]);
    expect(faultsOf(product({ schema: "products" }))).toEqual(["value_invalid /schema"]);
    expect(faultsOf(product({ schema: 1 }))).toEqual(["type_invalid /schema"]);
  });

  it("must be an object of strict JSON", () => {
    const cases: readonly (readonly [string | Uint8Array, string])[] = [
      ["[]", "type_invalid "],
      ["null", "type_invalid "],
      ["{", "json_malformed "],
      ['{"a":1,"a":2}', "member_duplicated /a"],
      ['{"a":"\\ud800"}', "surrogate_lone /a"],
      ["[[[[[[[[[1]]]]]]]]]", "depth_exceeded "],
      [new Uint8Array([0x22, 0xff, 0x22]), "utf8_invalid "],
    ];
    for (const [text, fault] of cases) {
      const outcome = parseRecord("products", typeof text === "string" ? utf8(text) : text);
      expect(outcome.ok ? [] : outcome.faults.map(({ code, pointer }) => `${code} ${pointer}`)).toEqual([
        fault,
      ]);
    }
  });

  it("does not take an inherited name for a member", () => {
    const text = JSON.stringify(sampleRecords.products).replace("{", '{"__proto__":{"x":1},"constructor":1,');
    const outcome = parseRecord("products", utf8(text));
    expect(outcome.ok ? [] : outcome.faults.map(({ code, pointer }) => `${code} ${pointer}`)).toEqual([
      "member_unknown /__proto__",
      "member_unknown /constructor",
    ]);
  });

  it("is told no more faults than are of use", () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`x${index}`, 1]));
    expect(faultsOf(product(many))).toHaveLength(recordFaultsMax);
  });
});

describe("a product", () => {
  it.each<readonly [string, Readonly<Record<string, JsonValue | undefined>>, readonly string[]]>([
    ["a blank name", { product_name: " \u00a0" }, ["value_invalid /product_name"]],
    ["a control character", { product_name: "a\u0007b" }, ["value_invalid /product_name"]],
    ["a line feed in one line", { product_name: "a\nb" }, ["value_invalid /product_name"]],
    ["a line feed in a long text", { short_description: "a\nb" }, []],
    ["200 characters outside the BMP", { product_name: "\u{1f45f}".repeat(200) }, []],
    ["201 characters", { product_name: "x".repeat(201) }, ["value_invalid /product_name"]],
    ["no country", { countries: [], prices: [] }, ["value_invalid /countries"]],
    ["a country twice", { countries: ["US", "US", "CA"] }, ["value_invalid /countries/1"]],
    ["an unassigned country", { countries: ["US", "CA", "ZZ"] }, ["vocabulary_unknown /countries/2"]],
    ["no prices", { prices: [] }, ["member_missing /prices"]],
    [
      "no price for one of its countries",
      { prices: [{ country: "US", currency: "USD", amount: "1" }] },
      ["member_missing /prices"],
    ],
    ["a country that has no price", { countries: ["US", "GB", "CA"] }, ["member_missing /prices"]],
    ["a category of another vertical", { category: "diamonds" }, ["value_invalid /category"]],
    ["a GTIN of zeros", { gtin: "0000000000000" }, ["value_invalid /gtin"]],
    ["a GTIN with a wrong check digit", { gtin: "4006381333932" }, ["value_invalid /gtin"]],
    ["http", { product_url: "http://harrier.example/" }, ["value_invalid /product_url"]],
    [
      "an address with user information",
      { product_url: "https://a@harrier.example/" },
      ["value_invalid /product_url"],
    ],
    ["an IP address", { product_url: "https://127.0.0.1/" }, ["value_invalid /product_url"]],
    [
      "a backslash in an address",
      { product_url: "https://harrier.example\\@b.example" },
      ["value_invalid /product_url"],
    ],
    [
      "another display domain",
      { display_domain: "www.harrier.example" },
      ["display_domain_mismatch /display_domain"],
    ],
    ["a display domain alone", { destination_url: undefined }, ["member_missing /destination_url"]],
    ["on_sale as text", { on_sale: "true" }, ["type_invalid /on_sale"]],
    ["a tag twice", { tags: ["a", "a"] }, ["value_invalid /tags/1"]],
    [
      "money null",
      { countries: ["US"], prices: [{ country: "US", currency: "USD", amount: null }] },
      ["type_invalid /prices/0/amount"],
    ],
    [
      "money negative",
      { countries: ["US"], prices: [{ country: "US", currency: "USD", amount: "-1" }] },
      ["value_invalid /prices/0/amount"],
    ],
  ])("with %s", (_, changes, faults) => {
    expect(faultsOf(product(changes))).toEqual(faults);
  });

  it("says which of its countries have no price", () => {
    const outcome = parseRecord(
      "products",
      utf8(JSON.stringify(product({ countries: ["GB", "US", "CA", "MX"] }))),
    );
    expect(outcome).toMatchObject({
      faults: [{ code: "member_missing", pointer: "/prices", detail: expect.stringContaining("GB, MX") }],
    });
    const countries = [...countryList.codes];
    const many = parseRecord("products", utf8(JSON.stringify(product({ countries }))));
    expect(many.ok ? "" : many.faults[0]?.detail).toMatch(/^A price is missing for .{38} and \d+ others: /);
  });

  it("has one price a country, and only where it is published", () => {
    const price = { currency: "USD", amount: "1" };
    const prices = [
      { country: "US", ...price },
      { country: "US", ...price },
      { country: "MX", ...price },
    ];
    expect(faultsOf(product({ countries: ["US"], prices }))).toEqual([
      "value_invalid /prices/1",
      "value_invalid /prices/1/country",
      "value_invalid /prices/2/country",
    ]);
  });
});

describe("the other types", () => {
  it.each<readonly [CollectionName, JsonObject, readonly string[]]>([
    ["events", { end_at: "2026-12-05T17:00:00.000Z" }, ["value_invalid /end_at"]],
    ["events", { start_at: "2026-12-05T18:00:00Z" }, ["value_invalid /start_at"]],
    ["events", { price_max: "19.99" }, ["value_invalid /price_max"]],
    // As doubles, the two amounts of each pair are the same number.
    [
      "events",
      { price_min: "999999999999999.000002", price_max: "999999999999999.000001" },
      ["value_invalid /price_max"],
    ],
    ["events", { price_min: "20", price_max: "20.000000" }, []],
    [
      "jobs",
      {
        salary: {
          min: "999999999999999.000002",
          max: "999999999999999.000001",
          currency: "CAD",
          period: "year",
        },
      },
      ["value_invalid /salary/max"],
    ],
    ["events", { region: "ZZ-1" }, ["value_invalid /region"]],
    ["events", { geo: { lat: 91, lng: 0 } }, ["value_invalid /geo/lat"]],
    ["events", { timezone: "Europe/Leeds" }, ["vocabulary_unknown /timezone"]],
    [
      "jobs",
      { salary: { min: "2", max: "1", currency: "CAD", period: "year" } },
      ["value_invalid /salary/max"],
    ],
    ["business_files", { year_established: 1987.5 }, ["type_invalid /year_established"]],
    ["business_files", { contact: { email: "hello" } }, ["value_invalid /contact/email"]],
    [
      "business_files",
      { represent_us: {} },
      ["who_we_are", "what_we_offer", "who_we_serve", "what_sets_us_apart", "how_to_describe_us"].map(
        (name) => `member_missing /represent_us/${name}`,
      ),
    ],
    ["updates", { relevant_until: "2026-02-30T00:00:00.000Z" }, ["value_invalid /relevant_until"]],
  ])("%s with %j", (collection, changes, faults) => {
    expect(faultsOf({ ...sampleRecords[collection], ...changes }, collection)).toEqual(faults);
  });
});
