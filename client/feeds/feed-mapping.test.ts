import { expect, it } from "vitest";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import { itemsOf, recordOf } from "./feed.fixture.ts";
import { type FeedMapping, feedMappingSchema, parseFeedMapping } from "./feed-mapping.ts";

it("has its schema in docs/schemas", async () => {
  const text = `${JSON.stringify(feedMappingSchema(), null, 2)}\n`;
  await expect(text).toMatchFileSnapshot("../../docs/schemas/feed-mapping-1.json");
});

it("accepts a mapping with everything", () => {
  const mapping = {
    v: 1,
    columns: {
      SKU: "business_product_id",
      Internal: null,
      Stock: { to: "availability", values: { yes: "in_stock" } },
      Keywords: { to: "tags", separator: "," },
    },
    prices: [
      { amount: "Price", currency: { column: "Currency" }, countries: ["US", "CA"] },
      { amount: "Preis", currency: "EUR", decimal_comma: true, sale: "Angebot", before: "Vorher" },
    ],
    templates: { product_url: "https://shop.example/p/{Handle}", short_description: "{Make}, {Year}" },
    fill_down: { by: "Handle", columns: ["Title"] },
    constants: { language: "en", countries: ["US"], on_sale: false },
    defaults: { brand: "House" },
    separator: ";",
    booleans: { true: ["ja"], false: ["nein"] },
    categories: { "3387": "diamonds", "Stones > Loose": "gemstones" },
  };
  expect(parseFeedMapping(mapping)).toEqual({ ok: true, value: mapping });
});

it.each<[string, JsonValue, string]>([
  ["no version", {}, "/v"],
  ["another version", { v: 2 }, "/v"],
  ["an unknown member", { v: 1, column: {} }, "/column"],
  ["a member that products do not have", { v: 1, columns: { A: "product_nam" } }, "/columns/A"],
  ["prices as a column", { v: 1, columns: { A: "prices" } }, "/columns/A"],
  ["a constant that is a number", { v: 1, constants: { brand: 7 } }, "/constants/brand"],
  ["an unknown currency", { v: 1, prices: [{ amount: "A", currency: "XXY" }] }, "/prices/0/currency"],
  ["a template of a member that products do not have", { v: 1, templates: { url: "{A}" } }, "/templates/url"],
  ["an unknown category", { v: 1, categories: { "1": "cats" } }, "/categories/1"],
])("refuses %s, and says where", (_name, value, pointer) => {
  expect(parseFeedMapping(value)).toMatchObject({ ok: false, code: "mapping_invalid", pointer });
});

it("makes members of several columns, fills what variants leave empty, and tells a sale of two prices", async () => {
  const csv = [
    "Handle,Maker,Title,Size,Price,Before,Sale",
    "rye loaf/2,Salt,Loaf,S,4.20,5.00,",
    "rye loaf/2,,,L,5.10,4.00,4.9",
    "bun,Salt,Bun,,3,,3.50",
    "#REF!,Salt,Roll,S,3,,",
    "new,,,S,3,,",
    "bad,Salt,Roll,S,3,x,",
    "none,Salt,Roll,S,,5,",
  ].join("\n");
  const mapping: FeedMapping = {
    v: 1,
    columns: { Maker: "brand" },
    templates: {
      product_url: "https://shop.example/p/{Handle}?size={Size}",
      business_product_id: "{Handle}-{Size}",
      product_name: "{Title} {Size}",
    },
    fill_down: { by: "Handle", columns: ["Title", "Maker"] },
    prices: [{ amount: "Price", currency: "EUR", before: "Before", sale: "Sale" }],
    defaults: { countries: ["DE"], product_name: "Bread", product_url: "https://shop.example/" },
  };
  const items = await itemsOf(csv, { mapping });
  expect(items.slice(0, 3).map(recordOf)).toMatchObject([
    {
      business_product_id: "rye loaf/2-S",
      product_name: "Loaf S",
      brand: "Salt",
      on_sale: true,
      product_url: "https://shop.example/p/rye%20loaf%2F2?size=S",
      prices: [{ amount: "4.20" }],
    },
    { product_name: "Loaf L", brand: "Salt", on_sale: true, prices: [{ amount: "4.9" }] },
    // A column of theirs is empty.
    {
      product_name: "Bread",
      product_url: "https://shop.example/",
      on_sale: false,
      prices: [{ amount: "3" }],
    },
  ]);
  expect(items[2]?.notes).toMatchObject([{ attribute: "Sale", effect: "attribute_left_out" }]);
  expect(items.slice(3).map(({ bytes, notes }) => [bytes, notes[0]?.attribute, notes[0]?.value])).toEqual([
    [null, "Handle", "#REF!"],
    [null, "Handle", "new"],
    [null, "Before", "x"],
    [null, "Before", "5"],
  ]);
  const all = { ...mapping, constants: { on_sale: false, product_name: "Roll" } };
  expect(recordOf((await itemsOf(csv, { mapping: all }))[0])).toMatchObject(all.constants);
  for (const [header, why] of [
    ["Handle,Maker,Title,Size,Price,Before,Sale,product_url", "templates both say product_url"],
    ["Handle,Maker,Title,Size,Price,Before,Sale,on_sale", "prices both say on_sale"],
    ["Handle,Maker,Titel,Size,Price,Before,Sale", "Is it Titel?"],
  ])
    await expect(itemsOf(`${header}\n`, { mapping })).rejects.toThrow(why);
  await expect(itemsOf("{}", { mapping })).rejects.toThrow("templates and fill_down are for tables");
});
