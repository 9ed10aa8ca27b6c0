// Search requests over the catalogue of products.ts: three kinds, no two alike.

export interface QueryKind {
  readonly name: string;
  /** Request body of query `index` of this kind. */
  readonly body: (index: number) => Readonly<Record<string, unknown>>;
}

const cuts = ["ideal", "premium", "very good", "good"];
const colours = ["D", "E", "F", "G", "H", "I", "J"];
const clarities = ["SI1", "VS2", "SI2", "VS1", "VVS2"];
const countries = ["US", "GB", "CA"];

/** A price from 300 to 799 that no other query of the same kind names. */
function lowPrice(index: number): number {
  return Math.round((300 + (index % 500) + Math.floor(index / 500) / 100) * 100) / 100;
}

export const queryKinds: readonly QueryKind[] = [
  {
    name: "text, filter and price order",
    body: (index) => ({
      collection: "products",
      q: `${pick(cuts, index)} diamond ${pick(colours, index)}`,
      query_by: ["product_name", "short_description"],
      filter: { all: [{ country: pick(countries, index) }, { price_amount: { gte: lowPrice(index) } }] },
      sort_by: "price_amount:asc",
    }),
  },
  {
    name: "filters only",
    body: (index) => ({
      collection: "products",
      filter: {
        all: [
          { country: pick(countries, index) },
          { tags: `clarity ${pick(clarities, index)}` },
          { availability: "in_stock" },
          { price_amount: { gte: lowPrice(index) } },
        ],
      },
      sort_by: "price_amount:asc",
    }),
  },
  {
    name: "text by relevance",
    body: (index) => ({
      collection: "products",
      q: `${pick(cuts, index)} ${pick(clarities, index)} ${pick(colours, index)}`,
      query_by: ["product_name", "tags"],
      filter: { all: [{ country: pick(countries, index) }, { price_amount: { gte: lowPrice(index) } }] },
      sort_by: "_text_match:desc",
    }),
  },
];

function pick<T>(list: readonly T[], index: number): T {
  const item = list[index % list.length];
  if (item === undefined) throw new Error("there is nothing to pick from");
  return item;
}
