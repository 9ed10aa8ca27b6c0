import { expect, it } from "vitest";
import type { JsonValue } from "../../protocol/canonical-json.ts";
import { feedMappingSchema, parseFeedMapping } from "./feed-mapping.ts";

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
