import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { itemsOf, notesOf, pieces, recordOf } from "./feed.fixture.ts";
import type { FeedMapping } from "./feed-mapping.ts";
import { detectFormat, type FeedOptions, readFeed } from "./read-feed.ts";

async function textsOf(contents: string | Uint8Array, options: FeedOptions = {}) {
  return (await itemsOf(contents, options)).map(({ place, bytes }) => [
    place,
    bytes === null ? null : new TextDecoder().decode(bytes),
  ]);
}

const product = { business_product_id: "1", product_name: "Loaf" };
const exact = '{"business_product_id":"1","product_name":"Loaf","schema":"svc/products/1"}';

describe("JSON", () => {
  it("is read as lines, as an array or gzipped, to the same bytes", async () => {
    expect(await textsOf(`\n${JSON.stringify(product)}\r\n\n`)).toEqual([[2, exact]]);
    expect(await textsOf(JSON.stringify([product]))).toEqual([[1, exact]]);
    expect(
      await textsOf(`\uFEFF${JSON.stringify({ product_name: "Loaf", business_product_id: "1" })}`),
    ).toEqual([[1, exact]]);
    expect(await textsOf(new Uint8Array(gzipSync(JSON.stringify(product))))).toEqual([[1, exact]]);
  });

  it("is the same however it is cut into pieces", async () => {
    const item = { name: 'a "quoted\\" ] text, with } all [ of { it', list: [[1], { a: [] }], umlaut: "ü💎" };
    const array = JSON.stringify([item, 7, [], "x,]", item], null, 2);
    const lines = `${JSON.stringify(item)}\n${JSON.stringify(product)}`;
    for (const text of [array, lines]) {
      const whole = await itemsOf(text);
      for (const size of [1, 2, 5]) {
        expect(await itemsOf(text, { size })).toEqual(whole);
        expect(await itemsOf(new Uint8Array(gzipSync(text)), { size })).toEqual(whole);
      }
    }
    expect(await itemsOf(array)).toHaveLength(5);
  });

  it("is looked at after its first characters, whatever they are", async () => {
    let taken = 0;
    const blank = async function* () {
      for (; taken < 50; taken += 1) yield new Uint8Array(8_192).fill(10);
    };
    const feed = await readFeed(blank());
    expect(feed.format).toBe("ndjson");
    expect(taken).toBeLessThan(5);
  });

  it("keeps a schema that a record names, and takes constants and defaults from the mapping", async () => {
    expect(await textsOf('{"schema":"svc/products/9"}')).toEqual([[1, '{"schema":"svc/products/9"}']]);
    const mapping: FeedMapping = {
      v: 1,
      defaults: { brand: "A", language: "en" },
      constants: { channel: "online" },
    };
    expect(recordOf((await itemsOf('{"brand":"B","channel":"x"}', { mapping }))[0])).toMatchObject({
      brand: "B",
      language: "en",
      channel: "online",
    });
  });

  it("notes every line that is not JSON", async () => {
    const items = await itemsOf('{"a":1}\n{"a":1,"a":2}\n{\n');
    expect(items.map(({ place, bytes }) => [place, bytes === null])).toEqual([
      [1, false],
      [2, true],
      [3, true],
    ]);
    expect(notesOf(items[1])).toEqual([" syntax_invalid"]);
  });

  it.each<[string, string | Uint8Array]>([
    ["bytes that are not UTF-8", Uint8Array.of(0x7b, 0xff, 0xfe)],
    ["UTF-8 that ends within a character", Uint8Array.of(0x7b, 0xc3)],
    ["an array that does not end", '[{"a":1}'],
    ["a comma with nothing behind it", '[{"a":1},]'],
    ["text after an array", '[{"a":1}] x'],
    ["a gzip file that is cut off", new Uint8Array(gzipSync("x".repeat(9_000))).subarray(0, 30)],
    ["a line that is too long", `{"a":"${"x".repeat(1_200_000)}`],
    ["an item that is too long", `[{"a":"${"x".repeat(1_200_000)}`],
  ])("refuses %s", async (_name, contents) => {
    await expect(itemsOf(contents)).rejects.toMatchObject({ name: "FeedError" });
  });

  it("notes a record that is too large to be sent", async () => {
    const large = JSON.stringify({ short_description: "x".repeat(153_600) });
    expect((await itemsOf(`{}\n${large}`)).map(notesOf)).toEqual([[], [" record_too_large"]]);
  });
});

describe("columns", () => {
  it("become products", async () => {
    const csv = [
      "sku,product_name,tags,on_sale,price_US,price_currency_US,price_CA,price_currency_CA,note",
      'A1,"Loaf, white",bread | new,yes,4.20,USD,,,',
      "A2,Rye,,0,5.10,USD,6.90,CAD,x",
    ].join("\n");
    const mapping: FeedMapping = {
      v: 1,
      columns: { sku: "business_product_id", note: null },
      defaults: { language: "en" },
    };
    const [first, second] = await itemsOf(csv, { mapping });
    expect(first).toMatchObject({ place: 2, id: "A1", notes: [] });
    expect(recordOf(first)).toEqual({
      schema: "svc/products/1",
      language: "en",
      business_product_id: "A1",
      product_name: "Loaf, white",
      tags: ["bread", "new"],
      on_sale: true,
      countries: ["US"],
      prices: [{ country: "US", currency: "USD", amount: "4.20" }],
    });
    expect(recordOf(second)).toMatchObject({ tags: [], on_sale: false, countries: ["CA", "US"] });
  });

  it("follow a mapping file: value maps, lists, words for yes and no, prices for countries", async () => {
    const csv = [
      "Artikel;Lager;Märkte;Angebot;Preis;Preis CH;Währung CH;Marke",
      "1;ja;DE, AT, CH;Nein;19,90;21,50;CHF;",
      "2;wenig;DE;Ja;5;;;Brot & Co",
      "3;ja;CH;vielleicht;5;;;",
    ].join("\n");
    const mapping: FeedMapping = {
      v: 1,
      columns: {
        Artikel: "business_product_id",
        Lager: { to: "availability", values: { ja: "in_stock", wenig: "limited_stock" } },
        Märkte: { to: "countries", separator: "," },
        Angebot: "on_sale",
        Marke: "brand",
      },
      prices: [
        { amount: "Preis", currency: "EUR", decimal_comma: true },
        { amount: "Preis CH", currency: { column: "Währung CH" }, countries: ["CH"], decimal_comma: true },
      ],
      defaults: { brand: "Haus" },
      constants: { language: "de" },
      booleans: { true: ["ja"], false: ["nein"] },
    };
    const [first, second, third] = await itemsOf(csv, { mapping });
    expect(recordOf(first)).toEqual({
      schema: "svc/products/1",
      business_product_id: "1",
      availability: "in_stock",
      countries: ["DE", "AT", "CH"],
      on_sale: false,
      prices: [
        { country: "AT", currency: "EUR", amount: "19.90" },
        { country: "CH", currency: "CHF", amount: "21.50" },
        { country: "DE", currency: "EUR", amount: "19.90" },
      ],
      brand: "Haus",
      language: "de",
      tags: [],
    });
    expect(recordOf(second)).toMatchObject({
      availability: "limited_stock",
      on_sale: true,
      brand: "Brot & Co",
    });
    expect(third).toMatchObject({ bytes: null, notes: [{ attribute: "Angebot", value: "vielleicht" }] });
  });

  it("may be separated by semicolons and tabs", async () => {
    expect(recordOf((await itemsOf("business_product_id;brand\n1;Salt, Marsh"))[0])).toMatchObject({
      brand: "Salt, Marsh",
    });
    expect(recordOf((await itemsOf("business_product_id\tbrand\n1\tX"))[0])).toMatchObject({ brand: "X" });
  });

  it("may be set for a file that does not have them; a cell comes before what is set", async () => {
    const set = new Map([
      ["price_currency_US", "USD"],
      ["on_sale", "no"],
      ["tags", "a|b"],
    ]);
    const rows = await itemsOf("price_US,on_sale\n4.20,\n5,yes", { set });
    expect(rows.map(recordOf)).toMatchObject([
      { on_sale: false, tags: ["a", "b"], prices: [{ amount: "4.20", currency: "USD" }] },
      { on_sale: true },
    ]);
    expect(
      recordOf((await itemsOf('{"brand":"X"}', { set: new Map([["on_sale", "no"]]) }))[0]),
    ).toMatchObject({
      on_sale: false,
    });
    for (const contents of ["brand\nX", "{}"]) {
      const reading = itemsOf(contents, { set: new Map([["brnd", "Y"]]) });
      await expect(reading).rejects.toMatchObject({ name: "FeedError" });
    }
  });

  it.each<[string, string, FeedMapping, string]>([
    ["a column that no product has", "product_nam\nLoaf", { v: 1 }, "product_name"],
    [
      "a column without a member, and how to leave it out",
      "colour\nX",
      { v: 1 },
      "--map colour= leaves it out",
    ],
    ["a column that only the mapping has", "brand\nX", { v: 1, columns: { Brnd: "brand" } }, "Brnd"],
    [
      "an amount that only the mapping has",
      "brand\nX",
      { v: 1, prices: [{ amount: "P", currency: "EUR" }] },
      "P",
    ],
    ["a quoted field that is not closed", 'brand\n"X', { v: 1 }, "closed"],
  ])("refuse %s", async (_name, csv, mapping, detail) => {
    const reading = itemsOf(csv, { mapping, format: "csv" });
    await expect(reading).rejects.toMatchObject({
      name: "FeedError",
      message: expect.stringContaining(detail),
    });
  });

  it("note a row that has other columns, or a cell that cannot be", async () => {
    const items = await itemsOf("brand,on_sale\nX\nX,maybe\nX,true,1");
    expect(items.map(({ place, notes }) => [place, notes[0]?.attribute, notes[0]?.code])).toEqual([
      [2, "", "syntax_invalid"],
      [3, "on_sale", "value_invalid"],
      [4, "", "syntax_invalid"],
    ]);
    expect((await itemsOf("price_US\n4.20")).map(notesOf)).toEqual([["price_US value_invalid"]]);
  });
});

it.each([
  ["  \n{", "ndjson"],
  ["[\n", "json"],
  ['<?xml version="1.0"?>', "merchant-xml"],
  ["brand,product_name\n", "csv"],
  ["brand\tproduct_name\n", "tsv"],
  ["id\ttitle\tlink\n", "merchant-tsv"],
  ['"ID"\tTitle\tshipping(country:price)\tprice\n', "merchant-tsv"],
  ["", "ndjson"],
])("%j is taken for %s", async (start, format) => {
  expect(detectFormat(start)).toBe(format);
  expect((await readFeed(pieces(start))).format).toBe(format);
});
