// The exports of shop programs with known facts, by the columns that each program documents: beside the rows of the products
// stand those that publish nothing (a product of variations, a hidden product, a store view, a further picture), with decoys.
// Products of JSON-LD are here as well.

import {
  type Choices,
  type Facts,
  type Place,
  writtenAmount,
  writtenGtin,
  writtenId,
  writtenText,
} from "./feed-facts.ts";

export type Cells = Readonly<Record<string, string>>;

/** A row, and of which product it is; null for one that publishes nothing. `first` is the row that says what it leaves empty. */
export interface ShopRow {
  readonly cells: Cells;
  readonly facts: Facts | null;
  readonly first: Cells | null;
}

export interface Shop {
  readonly members: Readonly<Record<string, string>>;
  /** The products as the program knows them: it has addresses of its own, and does not say a condition. */
  readonly known: (facts: readonly Facts[]) => readonly Facts[];
  readonly rows: (facts: readonly Facts[], choices: Choices) => readonly ShopRow[];
}

const key = ({ id }: Facts): string => `p-${id.replaceAll(/\W/g, "")}`;
const decoy = "7.77";

const shopify: Shop = {
  members: {
    Title: "product_name",
    Description: "short_description",
    Vendor: "brand",
    Barcode: "gtin",
    "URL handle": "product_url",
    "Inventory quantity": "availability",
    Tags: "tags",
  },
  known: (all) => {
    const known: Facts[] = [];
    for (const [at, facts] of all.entries()) {
      const first = at % 2 === 1 ? known.at(-1) : undefined;
      const shared = first === undefined ? {} : pick(first, ["name", "text", "brand", "tags", "url"]);
      const url = `https://shop.example/products/${key(facts)}`;
      const tags = facts.tags.slice(0, 1);
      known.push({ ...facts, url, tags, condition: "new", ...shared });
    }
    return known;
  },
  rows: (all, choices) => {
    const rows: ShopRow[] = [];
    let first: Cells = {};
    for (const [at, facts] of all.entries()) {
      const cells = shopifyCells(facts, at % 2 === 1, choices);
      if (at % 2 === 0) first = cells;
      rows.push({ cells, facts, first: at % 2 === 1 ? first : null });
      if (choices.once(3)) rows.push(nothing({ ...blank(cells), "URL handle": cells["URL handle"] ?? "" }));
    }
    if (choices.once(3))
      rows.push(
        nothing({
          ...first,
          SKU: "hidden",
          "URL handle": "hidden",
          Price: decoy,
          ...choices.of([{ Status: "Draft" }, { "Published on online store": "FALSE" }]),
        }),
      );
    return rows;
  },
};

/** A lower price stands in the column of the price, beside the one before. */
function shopifyCells(facts: Facts, isVariant: boolean, choices: Choices): Cells {
  const { amount, sale } = facts;
  const before = sale === null ? choices.of(["", "", "0", amount]) : writtenAmount(amount, choices, false);
  const stock = {
    in_stock: [choices.of(["3", "12"]), choices.of(["deny", "CONTINUE"])],
    out_of_stock: [choices.of(["0", "-1"]), choices.of(["deny", "DENY", "FALSE"])],
    backorder: ["0", choices.of(["continue", "CONTINUE", "TRUE"])],
  }[facts.availability] ?? ["", ""];
  const own = (text: string): string => (isVariant ? "" : text);
  return {
    SKU: writtenId(facts.id, choices),
    "URL handle": facts.url.split("/").at(-1) ?? "",
    Title: own(writtenText(facts.name, choices)),
    Vendor: own(writtenText(facts.brand, choices)),
    "Product category": own("Media > Books"),
    "Published on online store": own("TRUE"),
    Status: own("Active"),
    Barcode: writtenGtin(facts.gtin, choices),
    Price: writtenAmount(sale ?? amount, choices, false),
    "Compare-at price": before,
    "Inventory tracker": "shopify",
    "Inventory quantity": choices.once(6) ? choices.of(["many", ""]) : (stock[0] ?? ""),
    "Continue selling when out of stock": choices.once(6) ? choices.of(["ask", "denied"]) : (stock[1] ?? ""),
    Description: own(writtenText(facts.text, choices)),
    Tags: own(facts.tags.join()),
  };
}

const wooCommerce: Shop = {
  members: {
    Name: "product_name",
    "Short description": "short_description",
    Brands: "brand",
    Tags: "tags",
    "GTIN, UPC, EAN, or ISBN": "gtin",
    "In stock?": "availability",
    ID: "product_url",
  },
  known: (all) =>
    all.map((facts, at) => ({
      ...facts,
      url: at % 2 === 1 ? `https://shop.example/?p=${90 + at}` : `https://shop.example/?p=${10 + at}`,
      tags: [`red, n${at}`, ...facts.tags],
      condition: "new",
    })),
  rows: (all, choices) => {
    const rows: ShopRow[] = [];
    for (const [at, facts] of all.entries()) {
      const cells = wooCells(facts, String(10 + at), choices);
      if (at % 2 === 0) {
        rows.push({ cells, facts, first: null });
        continue;
      }
      const [sku, name] = [choices.of(["", `parent-${at}`]), "Regular price"];
      const parent: Cells = { ...cells, ID: String(90 + at), SKU: sku, Type: "variable", [name]: "" };
      const shared = pickCells(cells, ["Short description", "Brands", "Tags", "Categories"]);
      const variation = { ...cells, ...blank(shared), Parent: sku === "" ? `id:${90 + at}` : sku };
      const type = choices.of(["variation", "variation, virtual"]);
      const isSeen = !choices.once(8);
      rows.push(nothing(isSeen ? parent : { ...parent, ...choices.of(hiddenWoo) }));
      const row = { cells: { ...variation, Type: type }, facts, first: parent };
      rows.push(isSeen ? row : { ...row, facts: null });
    }
    const [{ cells } = nothing({})] = rows;
    if (choices.once(3)) rows.push(nothing({ ...cells, ID: "70", SKU: "hidden", ...choices.of(hiddenWoo) }));
    if (choices.once(3)) rows.push(nothing({ ...cells, ID: "71", SKU: "set", Type: "grouped" }));
    return rows;
  },
};

const hiddenWoo = [{ Published: "0" }, { Published: "-1" }, { "Visibility in catalog": "hidden" }] as const;

function wooCells(facts: Facts, id: string, choices: Choices): Cells {
  const escaped = (texts: readonly string[]): string =>
    texts.map((each) => each.replaceAll(",", "\\,")).join(", ");
  const text = writtenText(facts.text, choices).replaceAll("\\n", "\\\\n").replaceAll("\n", "\\n");
  const comma = choices.once(3);
  const [sale, from, until] = dated(facts, choices, [
    ["2026-11-01 0:00:00", "2026-11-30 23:59:59"],
    ["", "2026-12-01"],
  ]);
  return {
    ID: id,
    Type: choices.of(["simple", "simple, virtual"]),
    SKU: writtenId(facts.id, choices),
    "GTIN, UPC, EAN, or ISBN": writtenGtin(facts.gtin, choices),
    Name: writtenText(facts.name, choices),
    Published: choices.once(8) ? choices.of(["yes", ""]) : "1",
    "Visibility in catalog": choices.of(["visible", "search"]),
    "Short description": text,
    "Date sale price starts": from,
    "Date sale price ends": until,
    "In stock?": choices.once(6)
      ? choices.of(["many", ""])
      : ({ in_stock: "1", out_of_stock: "0" }[facts.availability] ?? "backorder"),
    "Sale price": comma ? sale.replace(".", ",") : sale,
    "Regular price": writtenAmount(facts.amount, choices, comma),
    Categories: escaped(["Books > Old, new", "Sale"]),
    Brands: escaped([writtenText(facts.brand, choices)]),
    Parent: "",
    "External URL": "",
    "Attribute 1 name": "Size",
    "Attribute 1 value(s)": "S, M",
    Tags: escaped(facts.tags),
  };
}

const magento: Shop = {
  members: {
    name: "product_name",
    short_description: "short_description",
    is_in_stock: "availability",
    url_key: "product_url",
    additional_attributes: "brand",
    gtin: "gtin",
    tags: "tags",
  },
  known: (all) =>
    all.map((facts) => ({
      ...facts,
      url: `https://shop.example/${key(facts)}.html`,
      tags: [],
      gtin: null,
      condition: "new",
    })),
  rows: (all, choices) =>
    all.flatMap((facts) => {
      const cells = magentoCells(facts, choices);
      const view = {
        ...cells,
        store_view_code: "de",
        name: "Lampe",
        price: decoy,
        short_description: "Eine.",
      };
      const part = { ...cells, sku: "part", visibility: "Not Visible Individually" };
      const whole = {
        ...cells,
        sku: "whole",
        product_type: "configurable",
        price: choices.of(["", decoy]),
        configurable_variations: `sku=part,size=S|sku=${facts.id},size=M`,
      };
      const others = [view, part, whole, { ...part, visibility: "Search", product_online: "2" }];
      const chosen = others.filter(() => choices.once(3)).map(nothing);
      const row = { cells, facts, first: null };
      return choices.of([true, false]) ? [row, ...chosen] : [...chosen, row];
    }),
};

function magentoCells(facts: Facts, choices: Choices): Cells {
  const [sale, from, until] = dated(facts, choices, [
    ["2026-11-01 00:00:00", ""],
    ["2026-11-01", "2026-11-30"],
  ]);
  const amount = writtenAmount(facts.amount, choices, false);
  const brand = choices.once(6) ? "" : `,manufacturer=${writtenText(facts.brand, choices)}`;
  return {
    sku: writtenId(facts.id, choices),
    store_view_code: "",
    product_type: "simple",
    categories: "Default Category/Books,Default Category/Sale",
    name: writtenText(facts.name, choices),
    short_description: writtenText(facts.text, choices),
    product_online: choices.once(8) ? choices.of(["3", ""]) : "1",
    visibility: choices.of(["Catalog, Search", "Catalog", "Search"]),
    price: /^\d+\.\d\d$/.test(amount) && choices.once(2) ? `${amount}0000` : amount,
    special_price: sale,
    special_price_from_date: from,
    special_price_to_date: until,
    url_key: key(facts),
    additional_attributes: `color=Red${brand},size=M`,
    is_in_stock: choices.once(6)
      ? choices.of(["many", ""])
      : ({ in_stock: "1", out_of_stock: "0" }[facts.availability] ?? "backorder"),
    configurable_variations: "",
    related_skus: "x,y",
  };
}

/** A product of JSON-LD; it has no sale prices. */
export function describedOf(
  cells: Cells,
  { country, currency }: Place,
  choices: Choices,
): Record<string, unknown> {
  const {
    id,
    title,
    price = "",
    description,
    brand,
    availability,
    gtin,
    link,
    condition,
    product_type,
  } = cells;
  const amount = { price: price.slice(0, -4), priceCurrency: currency };
  const perUnit = { "@type": "UnitPriceSpecification", price: "7.77", priceCurrency: currency };
  const forms: readonly Readonly<Record<string, unknown>>[] = [
    { ...amount, priceSpecification: { ...perUnit, priceType: "https://schema.org/StrikethroughPrice" } },
    { priceSpecification: { "@type": "PriceSpecification", ...amount } },
    { priceSpecification: [{ ...perUnit, referenceQuantity: { value: 100, unitCode: "GRM" } }] },
    { priceSpecification: [amount, { ...perUnit, price: "7.77" }] },
    { "@type": "AggregateOffer", lowPrice: "7.77", highPrice: price.slice(0, -4), priceCurrency: currency },
    { ...amount, priceCurrency: [currency, "XTS"] },
    { ...amount, priceValidUntil: choices.of(["2026-12-01", "2026-11-01", "2026-02-30"]) },
  ];
  const offer = {
    "@type": "Offer",
    availability,
    url: link,
    itemCondition: condition,
    shippingDetails: { shippingDestination: { addressCountry: country } },
    ...(choices.once(3) ? choices.of(forms) : amount),
  };
  const own = {
    [choices.of(["sku", "productID"])]: id,
    [choices.of(["gtin", "gtin13"])]: gtin,
    offers: [offer],
  };
  const texts = {
    name: title,
    description,
    brand: { "@type": "Brand", name: brand },
    category: product_type,
  };
  const type = choices.of(["Product", "https://schema.org/Product", ["Product", "Car"]]);
  if (!choices.once(3)) return { "@type": type, ...own, ...texts };
  // What its group says is not repeated.
  const group = { "@type": "ProductGroup", sku: "group", productGroupID: "group", ...texts };
  return { ...group, hasVariant: [{ "@type": type, ...own, name: title }] };
}

/** A sale price and its time; where there is no sale, often one that does not hold. */
function dated(
  { amount, sale }: Facts,
  choices: Choices,
  now: readonly (readonly [from: string, until: string])[],
): readonly [sale: string, from: string, until: string] {
  if (sale !== null) return [sale, ...choices.of([["", ""] as const, ...now])];
  const low = (Number(amount) / 4).toFixed(2);
  return choices.of([
    ["", "", ""],
    ["", "2026-11-01", ""],
    [amount, "", ""],
    ["0", "", ""],
    [low, "", "2026-11-01"],
    [low, "2026-12-01 0:00:00", ""],
    [low, "11/1/26", ""],
    [low, "", "2026-02-30"],
  ] as const);
}

const blank = (cells: Cells): Cells => Object.fromEntries(Object.keys(cells).map((name) => [name, ""]));
const nothing = (cells: Cells): ShopRow => ({ cells, facts: null, first: null });

function pick<K extends keyof Facts>(facts: Facts, names: readonly K[]): Pick<Facts, K> {
  return Object.fromEntries(names.map((name) => [name, facts[name]])) as Pick<Facts, K>;
}

function pickCells(cells: Cells, names: readonly string[]): Cells {
  return Object.fromEntries(names.map((name) => [name, cells[name] ?? ""]));
}

export const shops = { shopify, woocommerce: wooCommerce, magento } as const;
