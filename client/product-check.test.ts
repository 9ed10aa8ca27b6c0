import { expect, it } from "vitest";
import { createColumnReader } from "./feeds/product-columns.ts";
import { productFaults } from "./product-check.ts";
import { recordBytes } from "./record-set.ts";

const cells = {
  business_product_id: "sku-1",
  language: "en",
  product_name: "Trail shoe",
  vertical: "sports_outdoors",
  category: "running",
  channel: "online",
  brand: "Harrier",
  short_description: "A shoe.",
  on_sale: "no",
  availability: "in_stock",
  product_url: "https://harrier.example/shoe",
  price_GB: "4.20",
  price_currency_GB: "GBP",
};

function faultsOf(changes: Readonly<Record<string, string>>): readonly string[] {
  const row = { ...cells, ...changes };
  const reader = createColumnReader(Object.keys(row), { v: 1 });
  const record = reader.ok ? reader.value.read(Object.values(row)).record : null;
  if (record === null) throw new Error("The row cannot be read.");
  return productFaults(recordBytes(record)).map(({ code, pointer }) => `${code} ${pointer}`);
}

it("tells before it is sent that a product lacks a price for one of its countries", () => {
  expect(faultsOf({})).toEqual([]);
  expect(faultsOf({ countries: "GB" })).toEqual([]);
  expect(faultsOf({ countries: "GB|IE" })).toEqual(["member_missing /prices"]);
  expect(faultsOf({ countries: "IE" })).toEqual([
    "value_invalid /prices/0/country",
    "member_missing /prices",
  ]);
});
