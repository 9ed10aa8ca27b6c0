import { describe, expect, it } from "vitest";
import { itemsOf, notesOf, recordOf } from "./feed.fixture.ts";

const nowMs = Date.parse("2026-11-22T12:00:00Z");

describe("JSON-LD of schema.org", () => {
  const lamp = {
    "@context": "https://schema.org",
    "@type": "Product",
    sku: "lamp-1",
    name: "Lamp",
    description: "<p>A lamp.</p>",
    gtin13: "4006381333931",
    brand: { "@type": "Brand", name: "Glim" },
    url: "https://shop.example/lamp",
    category: "Home & Garden > Lighting",
    image: "https://shop.example/1.jpg",
    offers: {
      "@type": "Offer",
      price: 19.9,
      priceCurrency: "EUR",
      availability: "InStock",
      itemCondition: "https://schema.org/UsedCondition",
      shippingDetails: { shippingDestination: { "@type": "DefinedRegion", addressCountry: "DE" } },
    },
  };
  const options = { nowMs, set: new Map([["language", "en"]]) };

  it.each([
    ["one for each line", JSON.stringify(lamp)],
    ["an array", JSON.stringify([lamp])],
    ["a graph over several lines", JSON.stringify({ "@graph": [{ "@type": "WebPage" }, lamp] }, null, 2)],
    [
      "a list of items",
      JSON.stringify({ "@type": "ItemList", itemListElement: [{ "@type": "ListItem", item: lamp }] }),
    ],
  ])("is read as %s", async (_name, contents) => {
    const items = await itemsOf(contents, options);
    expect(items.map(notesOf)).toEqual([["description markup_removed", "image attribute_not_in_schema"]]);
    expect(recordOf(items[0])).toMatchObject({
      business_product_id: "lamp-1",
      product_name: "Lamp",
      short_description: "A lamp.",
      brand: "Glim",
      gtin: "4006381333931",
      product_url: "https://shop.example/lamp",
      category: "lighting",
      availability: "in_stock",
      countries: ["DE"],
      tags: ["used", "Home & Garden", "Lighting"],
      prices: [{ country: "DE", currency: "EUR", amount: "19.9" }],
    });
  });

  it.each([
    ["availability", { availability: "https://schema.org/SoldOut" }],
    ["availability", { availability: { status: true } }],
    ["price", { price: "1.299" }],
    ["price", { price: undefined, lowPrice: 5 }],
    ["price", { priceCurrency: ["EUR", "USD"] }],
    [
      "price",
      {
        price: undefined,
        priceSpecification: { price: "8.10", priceCurrency: "EUR", referenceQuantity: { value: 100 } },
      },
    ],
    ["expiration_date", { priceValidUntil: "2026-11-01" }],
  ])("is left out for %s: %j", async (attribute, changes) => {
    const [item] = await itemsOf(
      JSON.stringify({ ...lamp, offers: { ...lamp.offers, ...changes } }),
      options,
    );
    expect(item?.bytes).toBeNull();
    expect(item?.notes.map((each) => each.attribute)).toContain(attribute);
  });

  it("of a group says of a variant what the group says of all", async () => {
    const { sku, offers, gtin13, name, ...shared } = lamp;
    const group = { ...shared, name, "@type": "ProductGroup", productGroupID: "lamps", sku: "lamps" };
    const variants = [{ "@type": "Product", sku, gtin13, offers, name: "Lamp, red" }];
    const items = await itemsOf(JSON.stringify({ ...group, hasVariant: variants }), {
      nowMs,
      set: new Map([...options.set, ["brand", "House"]]),
    });
    expect(items.map(recordOf)).toMatchObject([
      {
        business_product_id: "lamp-1",
        product_name: "Lamp, red",
        brand: "Glim",
        short_description: "A lamp.",
      },
    ]);
  });

  it("is left out with two prices", async () => {
    const offers = [lamp.offers, { ...lamp.offers, price: 25 }];
    const [item] = await itemsOf(JSON.stringify({ ...lamp, offers }), options);
    expect(item?.bytes).toBeNull();
    expect(notesOf(item)).toContain("price given_twice");
  });
});
