// Products from the diamonds data set (data/README.md): one stone per row, and always the same product for the same row.

import type { JsonObject } from "../../protocol/json/canonical-json.ts";
import { recordSchema } from "../../protocol/records/parse-record.ts";

/** A row of the data set. */
export interface Stone {
  readonly carat: string;
  readonly cut: string;
  readonly color: string;
  readonly clarity: string;
  readonly depth: string;
  readonly table: string;
  /** The price in whole US dollars. */
  readonly price: string;
  /** Length, width and height in millimetres. */
  readonly size: readonly [x: string, y: string, z: string];
}

/** The business whose catalogue lists a stone. */
export interface StoneShop {
  readonly brand: string;
  /** The URL without trailing slash. */
  readonly website: string;
  /** The prefix of every `business_product_id`. */
  readonly idPrefix: string;
}

const columns = "carat,cut,color,clarity,depth,table,price,x,y,z";

/** Reads the data set's CSV. No field contains a comma or a line break. Throws for a file with a different format. */
export function parseStones(csv: string): readonly Stone[] {
  const [header = "", ...lines] = csv.trimEnd().split("\n");
  if (fieldsOf(header).join() !== columns)
    throw new Error(`The columns of the diamonds data set are ${columns}.`);
  return lines.map((line) => {
    const [
      carat = "",
      cut = "",
      color = "",
      clarity = "",
      depth = "",
      table = "",
      price = "",
      x = "",
      y = "",
      z = "",
    ] = fieldsOf(line);
    return { carat, cut, color, clarity, depth, table, price, size: [x, y, z] };
  });
}

function fieldsOf(line: string): readonly string[] {
  return line.replaceAll('"', "").replace("\r", "").split(",");
}

/** Every third stone is also sold in the United Kingdom, every fifth in Canada. */
const abroad = [
  { country: "GB", currency: "GBP", every: 3, centsPerDollar: 79 },
  { country: "CA", currency: "CAD", every: 5, centsPerDollar: 136 },
];

/** The product record for stone `index` (from 0). */
export function diamondProduct(stone: Stone, index: number, shop: StoneShop): JsonObject {
  const { carat, cut, color, clarity } = stone;
  const id = `${shop.idPrefix}${String(index + 1).padStart(6, "0")}`;
  const [x, y, z] = stone.size;
  const offers = abroad.filter(({ every }) => index % every === 0);
  return {
    schema: recordSchema("products"),
    language: "en",
    business_product_id: id,
    product_name: `${carat} ct ${cut} cut diamond, ${color}, ${clarity}`,
    countries: ["US", ...offers.map(({ country }) => country)],
    vertical: "jewelry_watches",
    category: "diamonds",
    channel: "online",
    brand: shop.brand,
    tags: [`${cut.toLowerCase()} cut`, `colour ${color}`, `clarity ${clarity}`, caratTag(Number(carat))],
    short_description:
      `A loose round diamond of ${carat} carat: cut ${cut}, colour ${color}, clarity ${clarity}. ` +
      `It measures ${x} by ${y} by ${z} mm, with a depth of ${stone.depth} % and a table of ${stone.table} %.`,
    prices: [
      { country: "US", currency: "USD", amount: `${stone.price}.00` },
      ...offers.map(({ country, currency, centsPerDollar }) => ({
        country,
        currency,
        amount: ((Number(stone.price) * centsPerDollar) / 100).toFixed(2),
      })),
    ],
    on_sale: false,
    availability: "in_stock",
    product_url: `${shop.website}/stones/${id}`,
  };
}

function caratTag(carat: number): string {
  const from = Math.floor(carat * 2) / 2;
  return `${from.toFixed(1)} to ${(from + 0.5).toFixed(1)} carat`;
}
