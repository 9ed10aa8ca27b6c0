import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { itemsOf, merchantRss, notesOf, pieces, recordOf } from "./feed.fixture.ts";
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
    ["a name that stands twice", "brand,tags,brand\nX,,Y", { v: 1 }, '"brand" twice'],
    [
      "two columns for one member",
      "brand,Marke\nX,Y",
      { v: 1, columns: { Marke: "brand" } },
      'The columns "brand" and "Marke" both say brand. --map Marke= leaves one out.',
    ],
    [
      "a column of prices that stands twice",
      "brand,P,P\nX,1,2",
      { v: 1, prices: [{ amount: "P", currency: "EUR" }] },
      '"P" twice',
    ],
    ["the header of a merchant feed", "id,title,price\n1,Lamp,5 USD", { v: 1 }, "--format merchant-tsv"],
    [
      "a row that a quote has swallowed",
      'brand,tags,price_US\n"X,a,1\nY",b,2\n',
      { v: 1 },
      'begins with "X,a,1"',
    ],
  ])("refuse %s", async (_name, csv, mapping, detail) => {
    const reading = itemsOf(csv, { mapping, format: "csv" });
    await expect(reading).rejects.toMatchObject({
      name: "FeedError",
      message: expect.stringContaining(detail),
    });
  });

  it("note a row that has other columns, or a cell that cannot be", async () => {
    const items = await itemsOf("brand,on_sale\nX\nX,maybe\nX,true,1\nX,true,,");
    expect(items.map(({ place, notes }) => [place, notes[0]?.attribute, notes[0]?.code])).toEqual([
      [2, undefined, undefined],
      [3, "on_sale", "value_invalid"],
      [4, "", "syntax_invalid"],
      [5, undefined, undefined],
    ]);
    expect((await itemsOf("price_US\n4.20")).map(notesOf)).toEqual([["price_US value_invalid"]]);
  });
});

describe("a column", () => {
  const mapping: FeedMapping = {
    v: 1,
    prices: [
      { amount: "P", currency: "EUR", decimal_comma: true },
      { amount: "Q", currency: "EUR", countries: ["DE"] },
    ],
    defaults: { countries: ["AT", "DE"], gtin: "4006381333931" },
  };
  const rowOf = async (row: string) => (await itemsOf(`P;Q;gtin;tags;product_url\n${row}`, { mapping }))[0];

  it("that says something unusable is a fault of its row, with its value", async () => {
    for (const [row, column, value] of [
      ["1.29;;;;", "P", "1.29"],
      ["1;1.299;;;", "Q", "1.299"],
      ["1;;;a|#REF!;", "tags", "#REF!"],
      ["1;;;;http://shop.example/", "product_url", "http://shop.example/"],
    ] as const)
      expect(await rowOf(row)).toMatchObject({ bytes: null, notes: [{ attribute: column, value }] });
  });

  it("of a GTIN is left out, and no default comes in its place", async () => {
    const read = await rowOf("1;;4.00638E+12;;");
    expect(read).toMatchObject({ notes: [{ attribute: "gtin", effect: "attribute_left_out" }] });
    expect(recordOf(read)).not.toHaveProperty("gtin");
    expect(recordOf(await rowOf("1;;;;"))).toMatchObject({ gtin: "4006381333931" });
  });

  it("that is optional is left out where it is not usable, and encoded where it can be", async () => {
    const [wrong, right] = await itemsOf(
      "display_domain,destination_url\nnot a host,shop.example\nshop.example,https://shop.example/ü\n",
    );
    expect(wrong?.notes).toMatchObject([
      { attribute: "display_domain", value: "not a host", effect: "attribute_left_out" },
      { attribute: "destination_url", value: "shop.example", effect: "attribute_left_out" },
    ]);
    expect(Object.keys(recordOf(wrong) as object)).not.toContain("display_domain");
    expect(recordOf(right)).toMatchObject({ destination_url: "https://shop.example/%C3%BC" });
  });

  it("of prices contradicts no other", async () => {
    expect(recordOf(await rowOf("1.299,5;7;;;"))).toMatchObject({
      prices: [
        { country: "AT", amount: "1299.5" },
        { country: "DE", amount: "7" },
      ],
    });
    const [twice] = await itemsOf("Q,price_DE,price_currency_DE\n7,8,EUR", {
      mapping: { v: 1, prices: [{ amount: "Q", currency: "EUR", countries: ["DE"] }] },
    });
    expect(twice).toMatchObject({ bytes: null, notes: [{ attribute: "Q", value: "7" }] });
  });
});

it("keeps of a product that the file has twice the first, even if that is left out, and says where it is", async () => {
  const items = await itemsOf("business_product_id,brand\n1,A\n2,null\n1,C\n2,D\n");
  expect(items.map(({ bytes }) => bytes !== null)).toEqual([true, false, false, false]);
  expect(items[2]?.notes).toMatchObject([
    { code: "duplicate_in_file", value: "1", detail: expect.stringContaining("at 2") },
  ]);
});

it("leaves out a JSON record with a text of a broken export, and warns of markup", async () => {
  const items = await itemsOf(
    '{"product_name":"#NAME?"}\n{"tags":["a","GrÃ¼n"]}\n{"brand":"<b>X</b>"}\n{"brand":"A & B"}\n',
  );
  expect(items.map((item) => [item.bytes !== null, ...notesOf(item)])).toEqual([
    [false, "product_name value_invalid"],
    [false, "tags value_invalid"],
    [true, "brand value_doubtful"],
    [true],
  ]);
  expect(recordOf(items[2])).toMatchObject({ brand: "<b>X</b>" });
});

it.each<[FeedOptions["format"] & string, string, string]>([
  ["csv", "[{}]", "a JSON array, not csv"],
  ["ndjson", "[\n{}]", "a JSON array, not ndjson"],
  ["json", "{}\n{}", "an object on each line, not json"],
  ["merchant-tsv", merchantRss, "XML, not merchant-tsv"],
])("says that what is named %s is none", async (format, contents, said) => {
  await expect(itemsOf(contents, { format })).rejects.toThrow(said);
});

it("says that a workbook is none of a feed's formats", async () => {
  const workbook = Uint8Array.of(0x50, 0x4b, 3, 4, 0x14, 0, 6, 0);
  await expect(itemsOf(workbook)).rejects.toThrow("an Excel workbook or a ZIP file: export");
});

it.each([
  ["a page for people", "<!DOCTYPE html>\n<html><body>a & b</body></html>", "HTML"],
  ["a page for people without its outermost element", "<head><title>Log in</title></head>", "HTML"],
  ["a page for people after a comment", '<?xml version="1.0"?><!-- a -->\n<HTML>', "HTML"],
  ["an object over lines", '{\n  "products": []\n}', "one JSON object over several lines"],
  ["an object with a list", '{"products":[{"id":1}]}', 'with the products in "products"'],
])("says that a file is %s", async (_name, contents, said) => {
  await expect(itemsOf(contents)).rejects.toThrow(said);
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
