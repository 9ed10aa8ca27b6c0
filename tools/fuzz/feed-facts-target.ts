// What a business's feed says is what is published of it: products with known facts are written in each format by good writers
// and bad ones, and spoilt as real exports are (feed-shops.ts, feed-facts.ts). Whatever the reader makes of that, no record says
// anything that the shop did not.
//   W1. Every id, text, price, code and address of a record is one of that product's own, or a default for what its cell left
//       empty.
//   W2. Of each product there is at most one record.
// Not looked for, since nothing in a file tells it: a last cell of a table that is cut off, or that a cut makes empty, a file
// that ends with a line end of a text that a writer did not quote, and commas without a space in such texts.

import type { FeedItem } from "../../client/feeds/feed-item.ts";
import type { FeedMapping } from "../../client/feeds/feed-mapping.ts";
import { type Feed, readFeed } from "../../client/feeds/read-feed.ts";
import { productFaults } from "../../client/product-check.ts";
import {
  arrived,
  Choices,
  type Facts,
  factsOf,
  jsonText,
  type Place,
  type Separator,
  type Table,
  tableText,
  writtenAmount,
  writtenAvailability,
  writtenCondition,
  writtenCountry,
  writtenGtin,
  writtenId,
  writtenSale,
  writtenText,
  writtenUrl,
  xmlText,
} from "./feed-facts.ts";
import { type Cells, describedOf, type Shop, shops } from "./feed-shops.ts";
import { type FuzzTarget, must } from "./target.ts";

const defaults = {
  language: "en",
  vertical: "books_media",
  category: "books",
  channel: "online",
  on_sale: false,
  brand: "Default",
  short_description: "Default.",
  product_url: "https://default.example/",
  availability: "preorder",
  gtin: "9780306406157",
  tags: ["default"],
  product_name: "Default name",
  countries: ["US"],
};
const nowMs = Date.parse("2026-11-22T12:00:00Z");

export const feedFacts: FuzzTarget = {
  name: "feed-facts",
  seeds: [0, 1, 2, 3].map((first) => Uint8Array.from({ length: 8 }, (_, at) => first + at)),
  words: [],
  check: async (input) => await judge(new Choices(input)),
};

async function judge(choices: Choices): Promise<string> {
  const place = choices.of<Place>([
    { country: "DE", currency: "EUR" },
    { country: "GB", currency: "GBP" },
    { country: "CH", currency: "CHF" },
  ]);
  const format = choices.of([
    "csv",
    "csv",
    "mapped",
    "merchant-tsv",
    "merchant-xml",
    "merchant-json",
    "shopify",
    "woocommerce",
    "magento",
    "json",
    "ndjson",
  ] as const);
  const facts = Array.from({ length: 1 + choices.below(4) }, (_, at) => factsOf(choices, at));
  const shop = shops[format as keyof typeof shops] ?? null;
  const products = shop === null ? facts : shop.known(facts);
  const file = written(format, products, place, choices);
  const { bytes, encoding, isCut, how } = arrived(file.text, choices);
  const outcome = `${format} ${file.how} ${how}${isCut ? " cut" : ""}`;
  let items: readonly FeedItem[];
  try {
    const set = shop === null ? new Map() : new Map([...shopSet, ["currency", place.currency]]);
    const feed: Feed = await readFeed(whole(bytes), { mapping: file.mapping, encoding, set, nowMs });
    items = await Array.fromAsync(feed.items);
  } catch (error) {
    if (!(error instanceof Error && error.name === "FeedError")) throw error;
    return `${outcome}: refused`;
  }
  const published = items.filter((item) => item.bytes !== null && productFaults(item.bytes).length === 0);
  const ids = published.map(({ id }) => id);
  must(new Set(ids).size === ids.length, `a product is published twice: ${ids.join(", ")}\n${file.text}`);
  for (const { bytes: record } of published) {
    const fault = untold(JSON.parse(new TextDecoder().decode(record ?? new Uint8Array())), {
      file,
      place,
      isCut,
    });
    if (fault !== null) throw new Error(`${fault}\n${outcome}\n${file.text}`);
  }
  return `${outcome}: ${published.length} of ${products.length}`;
}

interface Written {
  readonly text: string;
  readonly how: string;
  readonly mapping: FeedMapping;
  /** By id; `empty` are the members that the file does not state. */
  readonly told: ReadonlyMap<string, { readonly facts: Facts; readonly empty: ReadonlySet<string> }>;
  /** The id of a product that costs 7 where it is there again; where it is first a reader may not be able to tell which it is. */
  readonly again: string | null;
}

const members: Readonly<Record<string, string>> = {
  id: "business_product_id",
  title: "product_name",
  description: "short_description",
  link: "product_url",
  product_type: "tags",
  shipping: "countries",
};

function written(format: string, products: readonly Facts[], place: Place, choices: Choices): Written {
  const isMerchant = format.startsWith("merchant");
  const decimalComma = format === "mapped";
  const shop = shops[format as keyof typeof shops] ?? null;
  if (shop !== null) return writtenExport(shop, products, { mapping: mappingOf(format, place), choices });
  const cells = products.map((facts) =>
    isMerchant ? merchantCells(facts, place, choices) : tableCells(facts, place, { choices, decimalComma }),
  );
  const told = new Map(
    products.map((facts, at) => {
      const empty = Object.entries(cells[at] ?? {}).flatMap(([column, cell]) =>
        cell === "" ? [members[column] ?? column] : [],
      );
      return [facts.id, { facts, empty: new Set(empty) }];
    }),
  );
  const mapping = mappingOf(format, place);
  if (format === "json" || format === "ndjson") {
    // No spreadsheet has been at them.
    const exact = products.map(({ id, url, amount }) => ({
      business_product_id: id,
      product_url: url,
      prices: [{ ...place, amount: amount === "3" ? 3 : amount }],
    }));
    const records = cells.map((each, at) => ({ ...recordOf(each, place), ...exact[at] }));
    return {
      text: jsonText(records, choices, format === "ndjson"),
      how: "records",
      mapping,
      told,
      again: null,
    };
  }
  if (format === "merchant-json") {
    const graph = cells.map((each) => describedOf(each, place, choices));
    const list = graph.map((item, at) => ({ "@type": "ListItem", position: at + 1, item }));
    const whole = choices.of([{ "@graph": graph }, { "@type": "ItemList", itemListElement: list }]);
    const text = choices.of([true, false])
      ? JSON.stringify({ "@context": "https://schema.org", ...whole }, null, 2)
      : jsonText(graph, choices, choices.of([true, false]));
    return { text, how: "", mapping, told, again: null };
  }
  const table = tableOf(cells, choices);
  const again = table.twice === null ? null : (products[table.twice]?.id ?? null);
  if (format === "merchant-xml") return { text: xmlText(table, choices), how: "", mapping, told, again };
  const separator = format === "merchant-tsv" ? "\t" : choices.of<Separator>([",", ";", "\t"]);
  return { ...tableText(table, separator, choices), mapping, told, again };
}

function mappingOf(format: string, { country, currency }: Place): FeedMapping {
  // An export of a shop does not say where it sells.
  if (format in shops) return { v: 1, defaults: { ...defaults, countries: [country] } };
  if (format !== "mapped") return { v: 1, defaults };
  const prices = [{ amount: "Preis", sale: "Angebot", currency, countries: [country], decimal_comma: true }];
  return { v: 1, defaults: { ...defaults, countries: [country] }, prices };
}

const inherited = ["product_name", "short_description", "brand", "tags"];

/** An export of a shop, in which a row may leave to another what it says. */
function writtenExport(
  shop: Shop,
  products: readonly Facts[],
  { mapping, choices }: { readonly mapping: FeedMapping; readonly choices: Choices },
): Written {
  const rows = shop.rows(products, choices);
  const table = tableOf(
    rows.map(({ cells }) => cells),
    choices,
  );
  const again = table.twice === null ? null : (rows[table.twice]?.facts?.id ?? null);
  const file = tableText(table, choices.of<Separator>([",", ",", ";", "\t"]), choices);
  const entries = rows.flatMap(({ cells, facts, first }) => {
    const empty = Object.entries(shop.members).flatMap(([column, member]) =>
      cells[column] || (inherited.includes(member) && first?.[column]) ? [] : [member],
    );
    // The value of an attribute among others, whose separators a writer of stray quotes loses.
    const attributes = cells["additional_attributes"] ?? "manufacturer=?";
    const hasMaker =
      /manufacturer=[^,]/.test(attributes) && (file.how !== "stray" || shop.members["name"] === undefined);
    return facts === null
      ? []
      : [[facts.id, { facts, empty: new Set(hasMaker ? empty : [...empty, "brand"]) }] as const];
  });
  return { ...file, mapping, told: new Map(entries), again };
}

const shopSet = [["shop", "https://shop.example/"]] as const;

function tableCells(
  facts: Facts,
  { country, currency }: Place,
  { choices, decimalComma }: { choices: Choices; decimalComma: boolean },
): Cells {
  const { sale } = facts;
  const amount = writtenAmount(facts.amount, choices, decimalComma);
  return {
    business_product_id: writtenId(facts.id, choices),
    ...(decimalComma
      ? {
          Preis: amount,
          Angebot: sale === null ? choices.of(["", "", "0", amount]) : writtenAmount(sale, choices, true),
        }
      : { [`price_${country}`]: amount, [`price_currency_${country}`]: currency }),
    product_name: writtenText(facts.name, choices),
    short_description: writtenText(facts.text, choices),
    brand: writtenText(facts.brand, choices),
    availability: choices.once(6) ? writtenAvailability(facts.availability, choices) : facts.availability,
    gtin: writtenGtin(facts.gtin, choices),
    product_url: writtenUrl(facts.url, choices),
    ...(decimalComma ? {} : { countries: country }),
    tags: facts.tags.join("|"),
  };
}

function merchantCells(facts: Facts, place: Place, choices: Choices): Cells {
  const [sale, period] = writtenSale(facts, place, choices);
  const amount = writtenAmount(facts.amount, choices, false);
  return {
    id: writtenId(facts.id, choices),
    title: writtenText(facts.name, choices),
    price: `${amount} ${place.currency}`,
    sale_price: sale,
    sale_price_effective_date: period,
    description: writtenText(facts.text, choices),
    brand: writtenText(facts.brand, choices),
    availability: writtenAvailability(facts.availability, choices),
    gtin: writtenGtin(facts.gtin, choices),
    link: writtenUrl(facts.url, choices),
    shipping: `${writtenCountry(place, choices)}:::4 ${place.currency}`,
    condition: writtenCondition(facts, choices),
    product_type: facts.tags.join(" > "),
  };
}

function recordOf(cells: Cells, { country }: Place): Record<string, unknown> {
  const {
    [`price_${country}`]: amount,
    [`price_currency_${country}`]: _,
    countries,
    tags = "",
    ...texts
  } = cells;
  const stated = Object.entries(texts).filter(([, text]) => text !== "");
  return { ...Object.fromEntries(stated), countries: [countries], tags: tags.split("|") };
}

/** The columns in some order, the last one a text; maybe one of them twice, or a product twice, with something else. */
function tableOf(cells: readonly Cells[], choices: Choices): Table & { readonly twice: number | null } {
  const names = Object.keys(cells[0] ?? {});
  const turn = choices.below(names.length - 1);
  const columns = [...names.slice(turn, -1), ...names.slice(0, turn), ...names.slice(-1)];
  const rows = cells.map((each) => columns.map((name) => each[name] ?? ""));
  const price = columns.findIndex((name) => /^price|^Preis|^Price|^Regular price/.test(name));
  const twice = choices.once(16) ? choices.below(rows.length) : null;
  if (twice !== null)
    rows.push((rows[twice] ?? []).map((cell, at) => (at === price ? cell.replace(/[0-9.,]+/, "7") : cell)));
  if (choices.once(16)) {
    // A product may have several types.
    const at = choices.below(columns.length - 1);
    const to = choices.of([0, columns.length - 1]);
    const with7 = (cells: readonly string[], cell: string): readonly string[] => [
      ...cells.slice(0, to),
      cell,
      ...cells.slice(to),
    ];
    // Beside an empty one it is the only one.
    const doubled = rows.map((row) => with7(row, row[at] === "" ? "" : "7"));
    return { columns: with7(columns, columns[at] ?? ""), rows: doubled, twice };
  }
  return { columns, rows, twice };
}

interface Published {
  readonly business_product_id: string;
  readonly product_name: string;
  readonly short_description: string;
  readonly brand: string;
  readonly availability: string;
  readonly gtin?: string;
  readonly product_url: string;
  readonly tags: readonly string[];
  readonly countries: readonly string[];
  readonly on_sale: boolean;
  readonly prices: readonly (Place & { readonly amount: string })[];
}

/** What a record says that the file did not state (W1); null if there is nothing. */
function untold(
  record: Published,
  { file, place, isCut }: { file: Written; place: Place; isCut: boolean },
): string | null {
  const known = file.told.get(record.business_product_id);
  // A row that ends within a text lacks the cells behind it, among which its number may be: then it has that of the shop's address.
  if (known === undefined && isCut && file.how === "raw") return null;
  if (known === undefined) return `the id ${record.business_product_id} is none`;
  const { facts, empty } = known;
  // A writer of stray quotes has no separators in its texts.
  const marks = file.how === "stray" ? /[\s,;]+/g : /\s+/g;
  const one = (text: string): string => text.replaceAll(marks, " ").trim();
  const isRaw = file.how === "raw";
  const texts = { product_name: facts.name, short_description: facts.text, brand: facts.brand };
  // The file may end with that line end: then the row lacks what it says behind it.
  if (isCut && isRaw && Object.values(texts).some((text) => text.includes("\n"))) return null;
  const mayEndEarly = isCut && isRaw && Object.values(texts).some((text) => /[\n,;]/.test(text));
  for (const [member, fact] of Object.entries(texts) as [keyof typeof texts, string][]) {
    const said = one(record[member]);
    // A line end that was not quoted ends the row.
    const isBegun = isRaw && fact.includes("\n") && one(fact).startsWith(said);
    // A row without its end may have an empty last cell, or end at the comma of a text.
    const isCutAtComma = isRaw && isCut && [",", ";"].some((mark) => one(fact).startsWith(said + mark));
    const isDefault = (mayEndEarly || empty.has(member)) && said === one(defaults[member]);
    // A record is published as it is.
    const isMarkup = file.how === "records" && /<[!\w]|&\w+;/.test(said);
    if (said !== one(fact) && !isMarkup && !isBegun && !isCutAtComma && !isDefault)
      return `${member} is ${JSON.stringify(said)}, not ${JSON.stringify(fact)}`;
  }
  const codes = { availability: facts.availability, gtin: facts.gtin ?? undefined, product_url: facts.url };
  for (const [member, fact] of Object.entries(codes) as [keyof typeof codes, string | undefined][]) {
    const said = record[member];
    const isDefault = (mayEndEarly || empty.has(member)) && said === defaults[member];
    if (said !== fact && !isDefault && !(member === "gtin" && said === undefined))
      return `${member} is ${said}, not ${fact}`;
  }
  const tags = [...facts.tags, ...(facts.condition === "used" ? ["used"] : [])];
  // The cut may be within an escape.
  const isBegun = (each: string, tag: string): boolean => isCut && each.startsWith(tag.replace(/\\$/, ""));
  const isTag = (tag: string): boolean =>
    (tag === "default" && empty.has("tags")) ||
    (file.how === "stray" && one(tags.join()).includes(one(tag))) ||
    tags.some((each) => each === tag || (isCut && tag === "default") || isBegun(each, tag));
  if (!record.tags.every(isTag)) return `the tags are ${record.tags.join(", ")}`;
  if (
    file.told.size > 0 &&
    /condition/i.test(file.text) &&
    facts.condition === "used" &&
    !record.tags.includes("used") &&
    !isCut
  )
    return "what is used is published as new";
  // Beside a price before, those 7 are a sale, and beside those 7 the price before is one.
  const again = file.again === facts.id ? ["7"] : [];
  const sales = [facts.sale, ...again, ...again.map(() => facts.amount)];
  return untoldPrice(record, { amounts: [facts.amount, ...again], sales }, place);
}

function untoldPrice(
  record: Published,
  { amounts, sales }: { readonly amounts: readonly string[]; readonly sales: readonly (string | null)[] },
  { country, currency }: Place,
): string | null {
  for (const price of record.prices) {
    if (price.country !== country || price.currency !== currency)
      return `a price in ${price.country} ${price.currency}`;
    const wanted = record.on_sale ? sales : amounts;
    if (!wanted.some((each) => each !== null && Number(price.amount) === Number(each)))
      return `the price is ${price.amount}, not ${wanted.join(" or ")}`;
  }
  return record.countries.every((each) => each === country)
    ? null
    : `countries are ${record.countries.join(", ")}`;
}

async function* whole(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
