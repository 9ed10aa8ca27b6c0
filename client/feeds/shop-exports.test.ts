// Small exports with the columns that each program documents, and what is published of them.

import { describe, expect, it } from "vitest";
import { productFaults } from "../product-check.ts";
import { itemsOf, notesOf, recordOf } from "./feed.fixture.ts";

const nowMs = Date.parse("2026-11-22T12:00:00Z");
const set = new Map([
  ["shop", "https://shop.example/"],
  ["currency", "EUR"],
  ["language", "en"],
  ["countries", "AT|DE"],
  ["brand", "House"],
  ["category", "clothing"],
]);

/** A table of columns and rows in which cells are named, the others empty. */
function exportOf(columns: string, rows: readonly Readonly<Record<string, string>>[]): string {
  const names = columns.split(",").map((name) => (name === "GTIN_" ? "GTIN, UPC, EAN, or ISBN" : name));
  const quoted = (cell: string): string => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  return [
    names.map(quoted).join(","),
    ...rows.map((row) => names.map((name) => quoted(row[name] ?? "")).join(",")),
  ]
    .join("\n")
    .concat("\n");
}

const shopify =
  "Handle,Title,Body (HTML),Vendor,Product Category,Type,Tags,Published,Option1 Name,Option1 Value,Option2 Name,Option2 Value,Option3 Name,Option3 Value,Variant SKU,Variant Grams,Variant Inventory Tracker,Variant Inventory Qty,Variant Inventory Policy,Variant Fulfillment Service,Variant Price,Variant Compare At Price,Variant Requires Shipping,Variant Taxable,Variant Barcode,Image Src,Image Position,Image Alt Text,Gift Card,SEO Title,SEO Description,Variant Image,Variant Weight Unit,Variant Tax Code,Cost per item,Status";
const shopifySince2024 =
  "Title,URL handle,Description,Vendor,Product category,Type,Tags,Published on online store,Status,SKU,Barcode,Option1 name,Option1 value,Option1 Linked To,Option2 name,Option2 value,Option2 Linked To,Option3 name,Option3 value,Option3 Linked To,Price,Price / International,Compare-at price,Compare-at price / International,Cost per item,Charge tax,Tax code,Unit price total measure,Unit price total measure unit,Unit price base measure,Unit price base measure unit,Inventory tracker,Inventory quantity,Continue selling when out of stock,Weight value (grams),Weight unit for display,Requires shipping,Fulfillment service,Product image URL,Image position,Image alt text,Variant image URL,Gift card,SEO title,SEO description,Color (product.metafields.shopify.color-pattern),Google Shopping / Google product category,Google Shopping / Gender,Google Shopping / Age group,Google Shopping / Manufacturer part number (MPN),Google Shopping / Condition";
const wooCommerce =
  "ID,Type,SKU,GTIN_,Name,Published,Is featured?,Visibility in catalog,Short description,Description,Date sale price starts,Date sale price ends,Tax status,Tax class,In stock?,Stock,Low stock amount,Backorders allowed?,Sold individually?,Sale price,Regular price,Categories,Tags,Shipping class,Images,Parent,External URL,Position,Brands";
const magento =
  "sku,store_view_code,attribute_set_code,product_type,categories,product_websites,name,description,short_description,weight,product_online,tax_class_name,visibility,price,special_price,special_price_from_date,special_price_to_date,url_key,qty,allow_backorders,is_in_stock,additional_attributes";

const shirt = {
  Handle: "shirt",
  Title: "Shirt",
  "Body (HTML)": "<p>A shirt.</p>",
  Vendor: "Loom",
  Tags: "new, linen",
  Published: "TRUE",
  Status: "active",
  "Product Category": "Apparel & Accessories > Clothing > Shirts & Tops",
  "Option1 Value": "S",
  "Variant SKU": "shirt-s",
  "Variant Inventory Tracker": "shopify",
  "Variant Inventory Qty": "3",
  "Variant Inventory Policy": "deny",
  "Variant Price": "20.00",
  "Variant Compare At Price": "30.00",
  "Variant Barcode": "'4006381333931",
};
const hoodie = {
  ID: "7",
  Type: "simple",
  SKU: "hoodie",
  Name: "Hoodie",
  Published: "1",
  "In stock?": "1",
  "Regular price": "45",
  Categories: "Clothing > Hoodies, Sale",
  "Short description": "A <b>warm</b> hoodie.",
  Tags: "warm",
  Brands: "Loom",
  "Sale price": "40",
  "Date sale price ends": "2026-11-30",
};
const bag = {
  sku: "24-MB01",
  product_type: "simple",
  categories: "Default Category/Gear,Default Category/Gear/Bags",
  name: "Duffle Bag",
  description: "<p>A bag.</p>",
  product_online: "1",
  visibility: "Catalog, Search",
  price: "34.000000",
  url_key: "duffle-bag",
  is_in_stock: "1",
  qty: "100",
};

describe("an export of products", () => {
  it("by Shopify has a product for each variant, which has what the first row says of it", async () => {
    const rows = [
      shirt,
      {
        Handle: "shirt",
        "Option1 Value": "M",
        "Variant SKU": "shirt-m",
        "Variant Price": "21.00",
        "Variant Inventory Tracker": "shopify",
        "Variant Inventory Qty": "0",
        "Variant Inventory Policy": "deny",
      },
      { Handle: "shirt", "Image Src": "https://shop.example/2.jpg", "Image Position": "2" },
      { ...shirt, Handle: "draft", "Variant SKU": "draft", Status: "draft" },
      { ...shirt, Handle: "odd", "Variant SKU": "odd", "Variant Inventory Qty": "many" },
    ];
    const items = await itemsOf(exportOf(shopify, rows), { set, nowMs });
    expect(
      items.map(({ id, bytes }) => [
        id,
        bytes === null ? null : productFaults(bytes).map(({ pointer }) => pointer),
      ]),
    ).toEqual([
      ["shirt-s", []],
      ["shirt-m", []],
      ["odd", null],
    ]);
    expect(items[2]?.notes.at(-1)).toMatchObject({
      attribute: "Variant Inventory Qty",
      value: "many",
      detail: expect.stringContaining("Must be one of in_stock"),
    });
    expect(recordOf(items[0])).toEqual({
      schema: "svc/products/1",
      business_product_id: "shirt-s",
      product_name: "Shirt – S",
      short_description: "A shirt.",
      brand: "Loom",
      gtin: "4006381333931",
      product_url: "https://shop.example/products/shirt",
      availability: "in_stock",
      tags: ["new", "linen"],
      category: "clothing",
      vertical: "apparel",
      channel: "online",
      language: "en",
      on_sale: true,
      countries: ["AT", "DE"],
      prices: ["AT", "DE"].map((country) => ({ country, currency: "EUR", amount: "20.00" })),
    });
    expect(recordOf(items[1])).toMatchObject({
      product_name: "Shirt – M",
      short_description: "A shirt.",
      brand: "Loom",
      category: "clothing",
      availability: "out_of_stock",
      on_sale: false,
      prices: [{ amount: "21.00" }, {}],
    });
  });

  it("by Shopify has the columns that it documents since 2024, or those before", async () => {
    const pot = {
      Title: "Pot",
      "URL handle": "pot",
      Description: "<p>A pot.</p>",
      Vendor: "Clay",
      "Product category": "Home & Garden > Decor",
      Tags: "clay",
      "Published on online store": "TRUE",
      Status: "Active",
      SKU: "pot-s",
      Barcode: "4006381333931",
      "Option1 value": "S",
      Price: "9.00",
      "Compare-at price": "12.00",
      "Price / International": "11.00",
      "Inventory tracker": "shopify",
      "Inventory quantity": "0",
      "Continue selling when out of stock": "CONTINUE",
    };
    const variant = { "URL handle": "pot", "Option1 value": "L", SKU: "pot-l", Price: "15.00" };
    const rows = [
      pot,
      variant,
      { "URL handle": "pot", "Product image URL": "https://shop.example/2.jpg", "Image position": "2" },
      { ...pot, "URL handle": "hidden", SKU: "hidden", Status: "Unlisted" },
      { ...pot, "URL handle": "off", SKU: "off", "Published on online store": "FALSE" },
      { ...pot, "URL handle": "odd", SKU: "odd", "Continue selling when out of stock": "ASK" },
    ];
    const items = await itemsOf(exportOf(shopifySince2024, rows), { set, nowMs });
    const read = items.map(({ id, bytes }) => [
      id,
      bytes === null ? null : productFaults(bytes).map((each) => each.pointer),
    ]);
    expect(read).toEqual([
      ["pot-s", []],
      ["pot-l", []],
      ["odd", null],
    ]);
    expect(recordOf(items[0])).toMatchObject({
      product_name: "Pot – S",
      short_description: "A pot.",
      brand: "Clay",
      gtin: "4006381333931",
      product_url: "https://shop.example/products/pot",
      availability: "backorder",
      tags: ["clay"],
      category: "home_decor",
      on_sale: true,
      prices: [{ amount: "9.00" }, {}],
    });
    expect(recordOf(items[1])).toMatchObject({
      product_name: "Pot – L",
      short_description: "A pot.",
      availability: "in_stock",
      on_sale: false,
      prices: [{ amount: "15.00" }, {}],
    });
    expect(items.map(notesOf)).toEqual([
      ["Description markup_removed", "Price / International attribute_not_in_schema"],
      ["Description markup_removed"],
      [
        "Description markup_removed",
        "Inventory quantity value_invalid",
        "Price / International attribute_not_in_schema",
      ],
    ]);
    for (const before of ["1.250", "12,00", "-1"]) {
      const odd = exportOf(shopifySince2024, [{ ...pot, "Compare-at price": before }]);
      const [item] = await itemsOf(odd, { set, nowMs });
      expect([item?.bytes, item?.notes.find((each) => each.attribute === "Compare-at price")?.value]).toEqual(
        [null, before],
      );
    }
    const both = exportOf(`${shopifySince2024},Variant Price`, [{ ...pot, "Variant Price": "8.00" }]);
    await expect(itemsOf(both, { set, nowMs })).rejects.toThrow('says "Variant Price" twice');
  });

  it("by WooCommerce takes the sale price while it holds, and skips what is hidden or has variations", async () => {
    const rows = [
      hoodie,
      { ...hoodie, ID: "8", SKU: "ended", "Date sale price ends": "2026-11-01" },
      { ...hoodie, ID: "9", SKU: "", Type: "variable", "Regular price": "" },
      {
        ID: "10",
        SKU: "var-1",
        Type: "variation",
        Parent: "id:9",
        Name: "Hoodie - S",
        Published: "1",
        "In stock?": "0",
        "Regular price": "50",
      },
      { ...hoodie, ID: "11", SKU: "private", Published: "0" },
      { ...hoodie, ID: "12", SKU: "odd", "Sale price": "4.500", "In stock?": "perhaps" },
    ];
    const items = await itemsOf(exportOf(wooCommerce, rows), { set, nowMs });
    const facts = items.map(
      (item) => recordOf(item) as Record<string, unknown> & { prices: { amount: string }[] },
    );
    expect(
      facts
        .slice(0, 3)
        .map((each) => [
          each["business_product_id"],
          each["on_sale"],
          each.prices[0]?.amount,
          each["product_url"],
          each["availability"],
        ]),
    ).toEqual([
      ["hoodie", true, "40", "https://shop.example/?p=7", "in_stock"],
      ["ended", false, "45", "https://shop.example/?p=8", "in_stock"],
      ["var-1", false, "50", "https://shop.example/?p=9", "out_of_stock"],
    ]);
    for (const item of items.slice(0, 3)) expect(productFaults(item.bytes ?? new Uint8Array())).toEqual([]);
    expect([items[3]?.id, items[3]?.bytes, ...notesOf(items[3])]).toEqual([
      "odd",
      null,
      "Short description markup_removed",
      "In stock? value_invalid",
      "Sale price value_invalid",
    ]);
    expect(facts[2]).toMatchObject({ short_description: "A warm hoodie.", tags: ["warm"], brand: "Loom" });
  });

  it("by WooCommerce is read as it is written: its decimal mark, hours of one digit, escaped commas and line ends", async () => {
    const [item] = await itemsOf(
      exportOf(wooCommerce, [
        {
          ...hoodie,
          "Regular price": "45,00",
          "Sale price": "40,5",
          Tags: "red\\, blue, a|b",
          "Date sale price starts": "2026-11-01 0:00:00",
          Brands: "Loom\\, Ltd",
          Name: "'-20% hoodie",
          "Short description": "One.\\nTwo \\\\n.",
        },
      ]),
      { set, nowMs },
    );
    expect(recordOf(item)).toMatchObject({
      prices: [{ amount: "40.5" }, {}],
      on_sale: true,
      tags: ["red, blue", "a|b"],
      brand: "Loom, Ltd",
      product_name: "-20% hoodie",
      short_description: "One.\nTwo \\n.",
    });
  });

  it.each([
    ["Shopify", shopify, { ...shirt, Title: "" }, ["Title", ""]],
    ["Shopify", shopify, { ...shirt, Published: "FALSCH" }, ["Published", "FALSCH"]],
    ["Shopify", shopify, { ...shirt, Status: "Entwurf" }, ["Status", "Entwurf"]],
    ["WooCommerce", wooCommerce, { ...hoodie, Published: "yes" }, ["Published", "yes"]],
    ["WooCommerce", wooCommerce, { ...hoodie, Type: "variation", Parent: "id:5" }, ["Parent", "id:5"]],
    ["Magento", magento, { ...bag, price: "34,00" }, ["price", "34,00"]],
    ["WooCommerce", wooCommerce, { ...hoodie, "In stock?": "ja" }, ["In stock?", "ja"]],
    ["Magento", magento, { ...bag, product_online: "maybe" }, ["product_online", "maybe"]],
    ["Magento", magento, { ...bag, visibility: "Katalog" }, ["visibility", "Katalog"]],
    [
      "Magento",
      magento,
      { ...bag, special_price: "30", special_price_to_date: "11/1/26" },
      ["special_price_to_date", "11/1/26"],
    ],
  ] as const)(
    "by %s says by column and value what nobody can tell of a row",
    async (_, columns, row, [attribute, value]) => {
      const [item] = await itemsOf(exportOf(columns, [row as Readonly<Record<string, string>>]), {
        set,
        nowMs,
      });
      expect(item?.bytes).toBeNull();
      const [why] = item?.notes.filter(({ effect }) => effect === "item_left_out") ?? [];
      expect(why).toMatchObject({ attribute, value, code: "value_invalid" });
      expect(why?.detail).toMatch(/\.$/);
      expect(why?.detail).not.toContain("mapping");
    },
  );

  it("by WooCommerce has no variation of a product that customers do not see", async () => {
    const variation = { ...hoodie, ID: "10", SKU: "var-1", Type: "variation", Parent: "id:9" };
    const parents = [
      { ...hoodie, ID: "9", SKU: "", Type: "variable", Published: "0" },
      { ...hoodie, ID: "9", SKU: "", Type: "variable", "Visibility in catalog": "hidden" },
    ];
    for (const parent of parents)
      expect(await itemsOf(exportOf(wooCommerce, [parent, variation]), { set, nowMs })).toEqual([]);
  });

  it("names a category that nobody knows, unless one is for all", async () => {
    const without = new Map([...set].filter(([name]) => name !== "category"));
    const file = exportOf(wooCommerce, [{ ...hoodie, Categories: "Warm things > Hoodies, Sale" }]);
    const [left] = await itemsOf(file, { set: without, nowMs });
    expect(left).toMatchObject({ id: "hoodie", bytes: null });
    expect(left?.notes.at(-1)).toMatchObject({
      attribute: "category",
      code: "category_unknown",
      value: "Warm things > Hoodies",
      detail: expect.stringContaining("--set category"),
    });
    const unnamed = exportOf(shopify, [{ ...shirt, "Product Category": "" }]);
    const [none] = await itemsOf(unnamed, { set: without, nowMs });
    expect([none?.bytes, none?.notes.at(-1)?.code]).toEqual([null, "value_missing"]);
    const ways = [
      { set },
      { set: without, mapping: { v: 1, categories: { "warm things": "clothing" } } },
      { set: without, mapping: { v: 1, constants: { category: "clothing" } } },
    ] as const;
    for (const way of ways)
      expect(recordOf((await itemsOf(file, { nowMs, ...way }))[0])).toMatchObject({ vertical: "apparel" });
    // A category that the program has for all shops contradicts what is for all.
    const odd = exportOf(shopify, [{ ...shirt, "Product Category": "Nonsense" }]);
    expect((await itemsOf(odd, { set, nowMs }))[0]?.notes.at(-1)).toMatchObject({
      code: "category_unknown",
      value: "Nonsense",
      detail: expect.not.stringContaining("--set"),
    });
  });

  it("by Magento has addresses of their keys, and skips rows of store views", async () => {
    const rows = [
      bag,
      { ...bag, store_view_code: "de", name: "Tasche" },
      { ...bag, sku: "part", visibility: "Not Visible Individually" },
      { ...bag, sku: "all", product_type: "configurable", price: "" },
      { ...bag, sku: "sale", special_price: "30", special_price_from_date: "2026-11-01 00:00:00" },
      { ...bag, sku: "guess", special_price: "30", special_price_from_date: "11/1/26" },
    ];
    const items = await itemsOf(exportOf(magento, rows), { set, nowMs });
    expect(items.map(({ id, bytes }) => [id, bytes === null ? null : productFaults(bytes)])).toEqual([
      ["24-MB01", []],
      ["sale", []],
      ["guess", null],
    ]);
    expect(recordOf(items[0])).toMatchObject({
      product_url: "https://shop.example/duffle-bag.html",
      on_sale: false,
      brand: "House",
    });
    expect(recordOf(items[1])).toMatchObject({ on_sale: true, prices: [{ amount: "30" }, {}] });
    const made = { ...bag, additional_attributes: "color=Red,manufacturer=Bright, Ltd,size=M" };
    expect(recordOf((await itemsOf(exportOf(magento, [made]), { set, nowMs }))[0])).toMatchObject({
      brand: "Bright, Ltd",
    });
  });

  it("says what it does not say of the shop, and is a table like others with a mapping of one's own", async () => {
    const file = exportOf(shopify, [shirt]);
    await expect(itemsOf(file)).rejects.toThrow("by Shopify, which does not say where the shop is");
    const mapping = { v: 1, columns: { Handle: "business_product_id" } } as const;
    await expect(itemsOf(file, { mapping })).rejects.toThrow('no column "Title"');
    expect(await itemsOf(file, { set, nowMs, mapping: { v: 1, columns: {}, prices: [] } })).toHaveLength(1);
  });
});
