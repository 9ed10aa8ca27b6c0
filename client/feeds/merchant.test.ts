import { describe, expect, it } from "vitest";
import { itemsOf, merchantAtom, merchantRss, merchantTsv, notesOf, recordOf } from "./feed.fixture.ts";
import { FeedError } from "./feed-item.ts";
import type { FeedMapping } from "./feed-mapping.ts";
import { categoryOf, categoryTableFaults, ownCategories } from "./google-categories.ts";
import { parseInstant, parsePrice } from "./merchant-price.ts";
import { shortened } from "./shorten.ts";

const nowMs = Date.parse("2026-11-22T12:00:00Z");
const mapping: FeedMapping = { v: 1, defaults: { language: "en" } };

describe("a merchant feed as tab-separated text", () => {
  it("becomes products with the price that holds now, in every country that is shipped to", async () => {
    const [lamp] = await itemsOf(merchantTsv, { mapping, nowMs });
    expect(recordOf(lamp)).toEqual({
      schema: "svc/products/1",
      business_product_id: "lamp-1",
      language: "en",
      product_name: "Desk lamp, brass",
      short_description: "A heavy brass lamp.",
      product_url: "https://lamps.example/1",
      vertical: "home_garden",
      category: "lighting",
      channel: "online",
      brand: "Glim",
      gtin: "4006381333931",
      availability: "in_stock",
      on_sale: true,
      countries: ["CA", "US"],
      prices: [
        { country: "CA", currency: "USD", amount: "49.50" },
        { country: "US", currency: "USD", amount: "49.50" },
      ],
      tags: ["Home", "Lamps"],
    });
    expect(notesOf(lamp)).toEqual(["image_link attribute_not_in_schema"]);
  });

  it("takes the price itself outside the time of the sale", async () => {
    const [lamp] = await itemsOf(merchantTsv, { mapping, nowMs: Date.parse("2026-12-01T08:00:00Z") });
    expect(recordOf(lamp)).toMatchObject({
      on_sale: false,
      prices: [{ amount: "59.00" }, { amount: "59.00" }],
    });
  });

  it("never lets what is used pass as new, and leaves out a GTIN that cannot be one", async () => {
    const [, lamp] = await itemsOf(merchantTsv, { mapping, nowMs });
    expect(recordOf(lamp)).toMatchObject({ tags: ["used"], availability: "out_of_stock", on_sale: false });
    expect(recordOf(lamp)).not.toHaveProperty("gtin");
    expect(lamp?.notes).toMatchObject([
      { attribute: "gtin", code: "value_invalid", value: "4006381333932", effect: "attribute_left_out" },
    ]);
  });

  it("is the same however it is cut into pieces", async () => {
    const whole = await itemsOf(merchantTsv, { mapping, nowMs });
    for (const size of [1, 2, 7, 64])
      expect(await itemsOf(merchantTsv, { mapping, nowMs, size })).toEqual(whole);
  });

  const lampOf = async (changes: Readonly<Record<string, string>>, given = mapping) => {
    const cells = {
      id: "1",
      title: "Lamp",
      description: "A lamp.",
      link: "https://lamps.example/1",
      price: "5 USD",
      availability: "in_stock",
      brand: "Glim",
      google_product_category: "594",
      shipping: "US:::4 USD",
      ...changes,
    };
    const text = `${Object.keys(cells).join("\t")}\n${Object.values(cells).join("\t")}\n`;
    const [read] = await itemsOf(text, { mapping: given, nowMs });
    return read;
  };

  it("notes why an item cannot be a product, with the attribute and its value", async () => {
    const item = async (changes: Readonly<Record<string, string>>, given = mapping) => {
      const read = await lampOf(changes, given);
      return { isRecord: read?.bytes !== null, notes: notesOf(read) };
    };
    const out = (note: string) => ({ isRecord: false, notes: [note] });
    expect(await item({})).toEqual({ isRecord: true, notes: [] });
    expect(await item({ price: "USD 5" })).toEqual(out("price value_invalid"));
    expect(await item({ price: "1,000.00 USD" })).toEqual(out("price value_invalid"));
    expect(await item({ price: "" })).toEqual(out("price value_missing"));
    expect(await item({ availability: "soon" })).toEqual(out("availability value_invalid"));
    expect(await item({ google_product_category: "999999" })).toEqual(
      out("google_product_category category_unknown"),
    );
    expect(await item({ google_product_category: "" })).toEqual(out("product_type value_missing"));
    expect(await item({ brand: "" })).toEqual(out("brand value_missing"));
    expect(await item({ link: "http://lamps.example/1" })).toEqual(out("link value_invalid"));
    expect(await item({ shipping: "" })).toEqual(out("shipping value_missing"));
    expect(await item({}, { v: 1 })).toEqual(out("language value_missing"));
    // All that an item lacks is told at once, and nothing twice.
    expect(await item({ shipping: "", description: "", brand: "null" }, { v: 1 })).toEqual({
      isRecord: false,
      notes: [
        "brand value_invalid",
        "shipping value_missing",
        "language value_missing",
        "description value_missing",
      ],
    });
    expect(await item({ expiration_date: "2026-11-22T11:59Z" })).toEqual(out("expiration_date expired"));
    expect(await item({ expiration_date: "2026-11-23" })).toEqual({ isRecord: true, notes: [] });
    expect(await item({ sale_price: "6 USD" })).toEqual({
      isRecord: true,
      notes: ["sale_price value_invalid"],
    });
    expect(await item({ sale_price: "4 EUR" })).toEqual({
      isRecord: true,
      notes: ["sale_price value_invalid"],
    });
    expect(await item({ sale_price: "4 USD", sale_price_effective_date: "tomorrow" })).toEqual({
      isRecord: true,
      notes: ["sale_price_effective_date value_invalid"],
    });
    expect(await item({ description: "word ".repeat(200) })).toEqual({
      isRecord: true,
      notes: ["description value_shortened"],
    });
    expect(await item({ mpn: "G1", "size system": "EU" })).toEqual({
      isRecord: true,
      notes: ["mpn attribute_not_in_schema", "size_system attribute_not_in_schema"],
    });
  });

  it("never replaces what an item says, but not usably, by a default", async () => {
    const defaults = {
      language: "en",
      availability: "in_stock",
      countries: ["DE"],
      category: "clothing",
      gtin: "4006381333931",
      brand: "House",
      product_url: "https://lamps.example/",
      tags: ["house"],
    };
    const given: FeedMapping = { v: 1, defaults };
    const out: readonly (readonly [string, string])[] = [
      ["availability", "sold out"],
      ["google_product_category", "999999"],
      ["shipping", "UK:::4 USD,US"],
      ["condition", "gebraucht"],
      ["brand", "undefined"],
      ["link", "http://lamps.example/1"],
      ["expiration_date", "01/12/2026"],
      ["id", "'000123"],
      ["title", "#NAME?"],
      ["description", "{{ text }}"],
      ["product_type", "null > x"],
    ];
    for (const [name, value] of out) {
      const left = await lampOf({ [name]: value }, given);
      expect([name, left?.bytes, left?.notes[0]?.attribute]).toEqual([name, null, name]);
    }
    const uk = await lampOf({ shipping: "UK" }, given);
    expect(uk?.notes[0]?.detail).toContain("GB is the code");
    const bare = await lampOf({ gtin: "N/A" }, given);
    expect(recordOf(bare)).not.toHaveProperty("gtin");
    // A product_type is the shop's own heading: it does not contradict a default.
    const typed = await lampOf({ google_product_category: "", product_type: "Own" }, given);
    expect(recordOf(typed)).toMatchObject({ category: "clothing", tags: ["Own"] });
  });

  it("reads the usual words for availability and condition, and the shop's own by the mapping", async () => {
    for (const [word, code] of [
      ["In-Stock", "in_stock"],
      ["instock", "in_stock"],
      ["https://schema.org/OutOfStock", "out_of_stock"],
      ["http://schema.org/PreOrder", "preorder"],
    ] as const)
      expect(recordOf(await lampOf({ availability: word }))).toMatchObject({ availability: code });
    expect(recordOf(await lampOf({ condition: "https://schema.org/UsedCondition" }))).toMatchObject({
      tags: ["used"],
    });
    const given: FeedMapping = {
      ...mapping,
      columns: {
        availability: { to: "availability", values: { "sold out": "out_of_stock" } },
        condition: { to: "tags", values: { gebraucht: "used" } },
        shipping: { to: "countries", values: { UK: "GB" } },
        gtin: null,
      },
    };
    const own = { availability: "sold out", condition: "gebraucht", shipping: "UK", gtin: "rubbish" };
    const read = await lampOf(own, given);
    expect(recordOf(read)).toMatchObject({ availability: "out_of_stock", tags: ["used"], countries: ["GB"] });
    expect(notesOf(read)).toEqual([]);
    await expect(lampOf({}, { ...mapping, columns: { title: "brand" } })).rejects.toThrow("title is brand");
  });

  it("takes no sale price of nothing, none that ends before it begins, and warns of a price of nothing", async () => {
    const priceOf = async (changes: Readonly<Record<string, string>>) => {
      const read = await lampOf({ price: "20 USD", ...changes });
      const { on_sale, prices } = recordOf(read) as {
        on_sale: boolean;
        prices: readonly { amount: string }[];
      };
      return [on_sale, prices[0]?.amount, ...notesOf(read)];
    };
    expect(await priceOf({ sale_price: "0 USD" })).toEqual([false, "20", "sale_price value_invalid"]);
    expect(await priceOf({ sale_price: "0.00 USD" })).toEqual([false, "20", "sale_price value_invalid"]);
    const sale = (period: string) => ({ sale_price: "15 USD", sale_price_effective_date: period });
    expect(await priceOf(sale("2026-12-01/2026-11-01"))).toEqual([
      false,
      "20",
      "sale_price_effective_date value_invalid",
    ]);
    expect(await priceOf(sale("2026-11-01/2026-11-22"))).toEqual([true, "15"]);
    expect(await priceOf(sale("2026-11-01/2026-11-21"))).toEqual([false, "20"]);
    expect(await priceOf({ price: "0 USD" })).toEqual([false, "0", "price value_doubtful"]);
  });

  it("takes from the mapping what the item does not say, and what holds for all", async () => {
    const text = "id\ttitle\tprice\tproduct_type\n1\tStone\t5 USD\tGems > Loose > Round\n";
    const given: FeedMapping = {
      v: 1,
      defaults: {
        language: "en",
        countries: ["US"],
        brand: "Facet",
        availability: "in_stock",
        short_description: "A stone.",
        product_url: "https://facet.example/",
      },
      constants: { channel: "by_appointment" },
      categories: { "gems > loose": "gemstones" },
    };
    const [stone] = await itemsOf(text, { mapping: given, nowMs });
    expect(recordOf(stone)).toMatchObject({
      category: "gemstones",
      vertical: "jewelry_watches",
      channel: "by_appointment",
      countries: ["US"],
      brand: "Facet",
    });
    const constant = { ...given, constants: { category: "diamonds" } };
    expect(recordOf((await itemsOf(text, { mapping: constant, nowMs }))[0])).toMatchObject({
      category: "diamonds",
      vertical: "jewelry_watches",
    });
  });

  it("refuses a header that names an attribute twice, and a line with too many fields", async () => {
    await expect(itemsOf("id\ttitle\tprice\tprice\n")).rejects.toBeInstanceOf(FeedError);
    const [item] = await itemsOf("id\ttitle\tprice\n1\tA\t5 USD\tmore\n");
    expect(item).toMatchObject({ place: 2, bytes: null, notes: [{ code: "syntax_invalid" }] });
  });
});

describe("a merchant feed as XML", () => {
  it("is read as RSS", async () => {
    const [lamp, ...more] = await itemsOf(merchantRss, { nowMs });
    expect(more).toEqual([]);
    expect(recordOf(lamp)).toMatchObject({
      language: "en",
      product_name: "Desk lamp & shade",
      short_description: "Brass & <glass>.",
      product_url: "https://lamps.example/1?a=1&b=2",
      category: "lighting",
      countries: ["CA", "US"],
    });
    expect(lamp).toMatchObject({ place: 7, id: "lamp-1" });
    expect(notesOf(lamp)).toEqual(["image_link attribute_not_in_schema"]);
  });

  it("is read as Atom", async () => {
    const given: FeedMapping = { v: 1, defaults: { countries: ["DE"] } };
    const [lamp] = await itemsOf(merchantAtom, { mapping: given, nowMs });
    expect(recordOf(lamp)).toMatchObject({
      language: "de",
      product_url: "https://lamps.example/9",
      short_description: "Aus Messing.",
      prices: [{ country: "DE", currency: "EUR", amount: "12.00" }],
    });
  });

  it("is the same however it is cut into pieces", async () => {
    const whole = await itemsOf(merchantRss, { nowMs });
    for (const size of [1, 3, 50]) expect(await itemsOf(merchantRss, { nowMs, size })).toEqual(whole);
  });

  const bomb = `<!DOCTYPE rss [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><rss><channel><item><title>&b;</title></item></channel></rss>`;
  it.each<[string, string, string]>([
    ["a document type declaration with entities", bomb, "document type"],
    ["an external entity", `<!DOCTYPE rss SYSTEM "file:///etc/passwd"><rss/>`, "document type"],
    [
      "an entity that XML does not have",
      "<rss><channel><item><title>&b;</title></item></channel></rss>",
      "entity",
    ],
    ["another kind of document", "<opml><body/></opml>", "rss"],
    ["a tag that is not closed", "<rss><channel><item>", "unclosed"],
    [
      "a prefix without its namespace",
      "<rss><channel><item><g:id>1</g:id></item></channel></rss>",
      "namespace",
    ],
    ["elements too deep", `<rss><channel><item>${"<a>".repeat(9)}`, "nested"],
    ["an item without end", `<rss><channel><item><title>${"x".repeat(2_000_000)}`, "characters"],
    ["a comment without end", `<rss><channel><!--${"x".repeat(2_000_000)}`, "characters"],
    ["one name without end", `<rss><${"x".repeat(2_000_000)}`, "characters"],
  ])("refuses %s", async (_name, text, detail) => {
    const reading = itemsOf(text, { nowMs });
    await expect(reading).rejects.toBeInstanceOf(FeedError);
    await expect(itemsOf(text, { nowMs })).rejects.toThrow(new RegExp(detail, "i"));
  });

  it("reads a feed of any length, as long as each item is bounded", async () => {
    const item = merchantRss.slice(merchantRss.indexOf("<item>"), merchantRss.indexOf("</channel>"));
    const many = merchantRss.replace(item, item.repeat(3_000));
    expect(await itemsOf(many, { nowMs })).toHaveLength(3_000);
  });
});

describe("categories of Google's taxonomy", () => {
  it("lead to categories that exist, each listed once", () => {
    expect(categoryTableFaults()).toEqual([]);
  });

  it("are found by number, path and the nearest path above; the mapping's own come first", () => {
    const none = ownCategories({});
    expect(categoryOf(["200"], none)).toBe("rings");
    expect(categoryOf(["apparel & accessories>Jewelry > Rings"], none)).toBe("rings");
    expect(categoryOf(["Apparel & Accessories > Shoes > Boots"], none)).toBe("shoes");
    expect(categoryOf(["Apparel & Accessories > Jewelry"], none)).toBeNull();
    expect(categoryOf(["nonsense", "200"], none)).toBe("rings");
    expect(categoryOf(["200"], ownCategories({ "200": "diamonds" }))).toBe("diamonds");
    expect(categoryOf(["5322"], none)).toBe("clothing");
    expect(categoryOf(["2271"], ownCategories({ "1604": "workwear" }))).toBe("workwear");
    expect(categoryOf(["188"], none)).toBeNull();
  });
});

it("reads prices and times only in the documented forms", () => {
  expect(parsePrice("19.99 USD")).toEqual({ amount: "19.99", currency: "USD" });
  expect(parsePrice("007 EUR")).toEqual({ amount: "7", currency: "EUR" });
  for (const text of ["19,99 EUR", "-1 USD", "1 usd", "1 XXY", "$1", "1e3 USD", "1"])
    expect(parsePrice(text)).toEqual({ fault: expect.any(String) });
  expect(parseInstant("2026-11-27T08:00-0800")).toBe(Date.parse("2026-11-27T16:00:00Z"));
  expect(parseInstant("2026-11-27T08:00:30+05:30")).toBe(Date.parse("2026-11-27T02:30:30Z"));
  expect(parseInstant("2026-11-27T08:00:00.250+01")).toBe(Date.parse("2026-11-27T07:00:00.250Z"));
  expect(parseInstant("20261127T080000Z")).toBe(Date.parse("2026-11-27T08:00:00Z"));
  expect(parseInstant("2026-11-27")).toBe(Date.parse("2026-11-27T00:00:00Z"));
  expect(parseInstant("2026-11-27", "end")).toBe(Date.parse("2026-11-28T00:00:00Z"));
  const notTimes = [
    "tomorrow",
    "2026-13-27T08:00Z",
    "2026-02-30",
    "1",
    "2026",
    "01/12/2026",
    "28.11.2026",
    "2026-11-27T25:00Z",
  ];
  for (const text of notTimes) expect(parseInstant(text)).toBeNull();
});

it("shortens at a sentence, or else at a word", () => {
  expect(shortened("One two.", 20)).toBe("One two.");
  expect(shortened("One two three. Four five six.", 20)).toBe("One two three.");
  expect(shortened("One two three four five", 12)).toBe("One two…");
  expect(shortened("x".repeat(30), 10)).toBe(`${"x".repeat(9)}…`);
  expect([...shortened("💎".repeat(30), 10)]).toHaveLength(10);
  const family = "👨‍👩‍👧";
  expect(shortened(family.repeat(3), 12)).toBe(`${family.repeat(2)}…`);
});
