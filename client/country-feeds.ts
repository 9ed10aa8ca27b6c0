// Feeds for several countries as one: a record replaces the whole record that was published before it, so the prices of a product
// for all its countries belong into one.
//   J1. Prices and countries of all feeds are joined. Two prices for one country must be the same.
//   J2. A country whose feed says `out_of_stock` where another one does not is left out: the product is not listed there.
//   J3. `product_url` is that of the first feed, and `on_sale` is true only where every feed says so.
//   J4. Every other member must be the same in all feeds that have it; a product of which one differs is left out.

import { parseUtf8 } from "../protocol/bytes.ts";
import { canonicalize, type JsonValue } from "../protocol/json/canonical-json.ts";
import { isObject } from "../std/json-pointer.ts";
import { type FeedNote, note } from "./feeds/feed-item.ts";
import { recordBytes } from "./record-set.ts";

/** Null bytes for a product that is left out; the notes say why. */
export interface JoinedRecord {
  readonly bytes: Uint8Array | null;
  readonly notes: readonly FeedNote[];
}

type Product = Readonly<Record<string, JsonValue>>;

const outOfStock = "out_of_stock";

/**
 * Joins the records of one product, in the order of the feeds: at least one, each the JSON of an object. The bytes are null
 * where feeds contradict each other in what one record can say once, which a note names. Throws RangeError for no record,
 * and TypeError or SyntaxError for one that is no such JSON.
 */
export function joinCountries(records: readonly Uint8Array[]): JoinedRecord {
  const [only] = records;
  if (only !== undefined && records.length === 1) return { bytes: only, notes: [] };
  const all = records.map(productOf);
  const isSoldOut = ({ availability }: Product): boolean => availability === outOfStock;
  const listed = all.every(isSoldOut) ? all : all.filter((product) => !isSoldOut(product));
  const [first] = listed;
  if (first === undefined) throw new RangeError("There is no record to join.");
  const notes = all.filter((product) => !listed.includes(product)).map(notListed);
  const joined: Record<string, JsonValue> = { ...first };
  const countries = listed.flatMap((product) => listOf(product["countries"]));
  joined["countries"] = [...new Set(countries as readonly string[])].sort();
  const prices = pricesOf(listed, notes);
  if (prices !== null) joined["prices"] = prices;
  for (const other of listed.slice(1)) compare(joined, other, notes);
  const isFaulty = notes.some(({ effect }) => effect === "item_left_out");
  return { bytes: isFaulty ? null : recordBytes(joined), notes };
}

function productOf(bytes: Uint8Array): Product {
  const value: unknown = JSON.parse(parseUtf8(bytes) ?? "");
  if (!isObject(value)) throw new TypeError("A record is not an object.");
  return value as Product;
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

function textOf(value: JsonValue | undefined): string {
  return value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
}

function notListed(product: Product): FeedNote {
  const detail = "Another feed has it in stock, so the product is not listed in the countries of this one.";
  const value = listOf(product["countries"]).join(", ");
  return note("attribute_left_out", "feeds_differ", { attribute: "availability", value, detail });
}

/** Null if two feeds have other prices for one country. */
function pricesOf(products: readonly Product[], notes: FeedNote[]): readonly JsonValue[] | null {
  const prices = new Map<string, JsonValue>();
  for (const price of products.flatMap((product) => listOf(product["prices"]))) {
    const country = isObject(price) ? textOf(price["country"] as JsonValue) : "";
    const known = prices.get(country);
    if (known === undefined) prices.set(country, price);
    else if (canonicalize(known) !== canonicalize(price)) {
      const detail = `The feeds have two prices for ${country}, ${textOf(known)} and this one. Give one.`;
      notes.push(
        note("item_left_out", "feeds_differ", { attribute: "prices", value: textOf(price), detail }),
      );
      return null;
    }
  }
  return [...prices].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, price]) => price);
}

/** Notes where another feed's record differs from what was joined so far, and brings the members that may differ together. */
function compare(joined: Record<string, JsonValue>, other: Product, notes: FeedNote[]): void {
  for (const member of new Set([...Object.keys(joined), ...Object.keys(other)])) {
    if (member === "countries" || member === "prices") continue;
    const [one, two] = [joined[member], other[member]];
    if (one === undefined && two !== undefined) joined[member] = two;
    if (one === undefined || two === undefined || canonicalize(one) === canonicalize(two)) continue;
    const about = { attribute: member, value: textOf(one) };
    if (member === "product_url") {
      const detail = `It is published for all countries; a feed after this one has ${textOf(two)}.`;
      notes.push(note("value_changed", "feeds_differ", { ...about, detail }));
    } else if (member === "on_sale" && typeof one === "boolean" && typeof two === "boolean") {
      const detail = "The product is on sale in some countries only, and is published as not on sale.";
      notes.push(note("value_changed", "feeds_differ", { ...about, detail }));
      joined[member] = false;
    } else {
      const detail = `A feed after this one has ${textOf(two)}. One record says the same in all its countries.`;
      notes.push(note("item_left_out", "feeds_differ", { ...about, detail }));
    }
  }
}
