// An item of a Google Merchant feed as a product (client/README.md has the table). Everything that the record does not say
// is noted: attributes that products do not have, values that are not usable, texts that were shortened. A value that is not
// usable never becomes a default, and of two values for one attribute none is taken.

import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import { usualCode } from "../../protocol/records/vocabularies/code-list.ts";
import { countries as knownCountries } from "../../protocol/records/vocabularies/countries.ts";
import { taxonomyList, verticalOf } from "../../protocol/records/vocabularies/taxonomy.ts";
import { productFaults } from "../product-check.ts";
import { recordBytes } from "../record-set.ts";
import { FeedError, type FeedItem, type FeedNote, forNothing, markupRemoved, note } from "./feed-item.ts";
import type { FeedMapping } from "./feed-mapping.ts";
import { readCell, readGtin, readLink } from "./feed-values.ts";
import { categoryOf, ownCategories } from "./google-categories.ts";
import { attributeName, type MerchantItem } from "./merchant-item.ts";
import { isReduction, type MerchantPrice, parseInstant, parsePeriod, parsePrice } from "./merchant-price.ts";
import { Reading, type Words } from "./merchant-reading.ts";
import { availabilityForm, membersOf, productSchema } from "./product-row.ts";
import { leftOver, readText } from "./published-text.ts";
import { shortened } from "./shorten.ts";

export interface MerchantMapper {
  map(item: MerchantItem): FeedItem;
}

export interface MerchantOptions {
  readonly mapping: FeedMapping;
  /** Unix milliseconds: which sale prices hold and which items have expired is judged at this moment. */
  readonly nowMs: number;
}

/** Rejects with {@link FeedError} for a mapping with columns that mean nothing in a merchant feed. */
export function createMerchantMapper({ mapping, nowMs }: MerchantOptions): MerchantMapper {
  const categories = ownCategories(mapping.categories ?? {});
  const constants = membersOf(mapping.constants);
  const defaults: Record<string, JsonValue> = { channel: "online", ...membersOf(mapping.defaults) };
  const words = wordsOf(mapping);
  return {
    map: (item) => {
      const reading = new Reading(item, words);
      const id = idOf(reading);
      const place = { place: item.place, id };
      const said = mapTold(reading, id, { categories, nowMs, defaults, constants });
      for (const [name, value] of reading.unused()) reading.notes.push(notInSchema(name, value));
      const members: Record<string, JsonValue> = {
        tags: [],
        ...defaults,
        ...said,
        ...constants,
        schema: productSchema,
      };
      const unsaid = Object.entries(members).filter(
        (entry): entry is [string, JsonValue] => entry[1] !== null,
      );
      const bytes = recordBytes(Object.fromEntries(unsaid));
      const told = reading.notes.filter(({ effect }) => effect === "item_left_out");
      const faults = productFaults(bytes)
        .filter((fault) => told.length === 0 || isUntold(fault, told))
        .map(({ pointer, detail, code }) =>
          note("item_left_out", code === "member_missing" ? "value_missing" : "record_invalid", {
            attribute: attributeOf(pointer),
            value: reading.first(attributeOf(pointer)) ?? "",
            detail: `${pointer || "/"}: ${detail}`,
          }),
        );
      const isWhole = told.length + faults.length === 0;
      return { ...place, bytes: isWhole ? bytes : null, notes: [...reading.notes, ...faults] };
    },
  };
}

/** The attribute from which a member comes, so that a fault is told where it can be mended. */
const sources: Readonly<Record<string, string>> = {
  business_product_id: "id",
  product_name: "title",
  short_description: "description",
  product_url: "link",
  prices: "price",
  category: "google_product_category",
  vertical: "google_product_category",
  tags: "product_type",
  countries: "shipping",
};

/** What the mapping's `columns` say of attributes: each keeps its member, and may have words of the shop's own. */
function wordsOf({ columns = {}, templates, fill_down }: FeedMapping): Words {
  if (templates !== undefined || fill_down !== undefined)
    throw new FeedError(0, "The mapping's templates and fill_down are for tables, and this file is none.");
  const members = new Map(Object.entries(sources).map(([member, attribute]) => [attribute, member]));
  members.set("content_language", "language").set("condition", "tags");
  return new Map(
    Object.entries(columns).map(([column, rule]) => {
      const attribute = attributeName(column);
      if (rule === null) return [attribute, null];
      const to = typeof rule === "string" ? rule : rule.to;
      const own = members.get(attribute) ?? attribute;
      if (to !== own && sources[to] !== attribute)
        throw new FeedError(
          0,
          `The mapping's columns say that ${column} is ${to}; in a merchant feed they can only leave an attribute out, or translate its values with \`values\`.`,
        );
      return [attribute, typeof rule === "string" ? {} : (rule.values ?? {})];
    }),
  );
}

function attributeOf(pointer: string): string {
  const member = pointer.split("/")[1] ?? "";
  return sources[member] ?? member;
}

/** Members that an item says in an attribute of their own, and nothing else replaces. */
const plainMembers = [
  "business_product_id",
  "language",
  "product_name",
  "brand",
  "short_description",
  "product_url",
];

/** Whether a member is missing besides what is already wrong with an item, so that all of it is told in one run. */
function isUntold(
  { code, pointer }: { readonly code: string; readonly pointer: string },
  told: readonly FeedNote[],
) {
  const isMissing = code === "member_missing" && plainMembers.includes(pointer.slice(1));
  return isMissing && !told.some(({ attribute }) => attribute === attributeOf(pointer));
}

function notInSchema(attribute: string, value: string): FeedNote {
  const detail = "Products have no member for it.";
  return note("attribute_left_out", "attribute_not_in_schema", { attribute, value, detail });
}

interface Told {
  readonly categories: ReadonlyMap<string, string>;
  readonly nowMs: number;
  /** Members that the mapping gives to items without them, and to all. */
  readonly defaults: Readonly<Record<string, JsonValue>>;
  readonly constants: Readonly<Record<string, JsonValue>>;
}

function idOf(reading: Reading): string | null {
  const id = reading.read("id", (written) => readCell(written, { isNumber: true }));
  const fault = id === null ? null : leftOver(id);
  if (fault !== null) reading.tell("item_left_out", "value_invalid", "id", fault);
  return id;
}

/** The members that the item itself gives; null for one that it has, but not in a usable form: no default replaces it. */
function mapTold(reading: Reading, id: string | null, told: Told): Record<string, JsonValue> {
  const members: Record<string, JsonValue> = {};
  const put = (name: string, value: JsonValue | null): void => {
    if (value !== null) members[name] = value;
  };
  dropExpired(reading, told.nowMs);
  put("business_product_id", id);
  put("product_name", textOf(reading, "title", 200));
  put("short_description", textOf(reading, "description", 500));
  put("product_url", reading.read("link", readLink));
  put("brand", textOf(reading, "brand", 100));
  put("language", reading.first("content_language")?.toLowerCase().split(/[-_]/)[0] ?? null);
  put("availability", availabilityOf(reading));
  Object.assign(members, gtinMember(reading), categoryMembers(reading, told), priceMembers(reading, told));
  put("tags", tagsOf(reading));
  return members;
}

function dropExpired(reading: Reading, nowMs: number): void {
  const text = reading.first("expiration_date");
  if (text === null) return;
  const atMs = parseInstant(text, "end");
  if (atMs === null)
    reading.tell(
      "item_left_out",
      "value_invalid",
      "expiration_date",
      "Must be a time of ISO 8601, such as 2026-11-28 or 2026-11-28T18:00+01:00.",
    );
  else if (atMs <= nowMs)
    reading.tell("item_left_out", "expired", "expiration_date", "The item has expired.");
}

function textOf(reading: Reading, name: "title" | "description" | "brand", max: number): string | null {
  const written = reading.read(name, (cell) => readCell(cell, { isNumber: false }));
  if (written === null) return null;
  const read = readText(written, { isMultiline: name === "description" });
  if (read.fault !== null) {
    reading.tell("item_left_out", "value_invalid", name, read.fault);
    return null;
  }
  if (read.hadMarkup) reading.notes.push(markupRemoved(name, written));
  if (name === "brand") return read.text;
  const short = shortened(read.text, max);
  if (short !== read.text)
    reading.tell("value_changed", "value_shortened", name, `Shortened to at most ${max} characters.`);
  return short;
}

/** What other writers of feeds call it, where nothing else can be meant. */
const availabilityWords: ReadonlyMap<string, string> = new Map([
  ["instock", "in_stock"],
  ["outofstock", "out_of_stock"],
  ["pre_order", "preorder"],
  ["back_order", "backorder"],
  ["limited_availability", "limited_stock"],
]);

function availabilityOf(reading: Reading): string | null {
  const text = reading.first("availability");
  if (text === null) return null;
  const word = wordOf(text);
  const code = availabilityWords.get(word) ?? word;
  if (taxonomyList("availability").codes.has(code)) return code;
  reading.tell("item_left_out", "value_invalid", "availability", availabilityForm);
  return null;
}

/** `In stock`, `in-stock` and `https://schema.org/InStock` as `in_stock`. */
function wordOf(text: string): string {
  return text
    .trim()
    .replace(/^https?:\/\/schema\.org\/([A-Z][A-Za-z]+)$/i, (_, name: string) =>
      name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_"),
    )
    .toLowerCase()
    .replaceAll(/[ -]+/g, "_");
}

/** A GTIN is optional: one that is not usable is left out, and no default comes in its place. */
function gtinMember(reading: Reading): Record<string, JsonValue> {
  const text = reading.first("gtin");
  if (text === null) return {};
  const gtin = readGtin(text);
  if (gtin.fault === null) return { gtin: gtin.value };
  reading.tell("attribute_left_out", "value_invalid", "gtin", gtin.fault);
  return { gtin: null };
}

function categoryMembers(reading: Reading, told: Told): Record<string, JsonValue> {
  const given = reading.first("google_product_category");
  const names = [...(given === null ? [] : [given]), ...reading.all("product_type")];
  // A product_type is the shop's own heading, not a category that a default would contradict.
  const otherwise = given === null ? told.defaults["category"] : null;
  const found = told.constants["category"] ?? categoryOf(names, told.categories) ?? otherwise ?? null;
  if (typeof found === "string") return { category: found, vertical: verticalOf(found) ?? "" };
  const attribute = given === null ? "product_type" : "google_product_category";
  const detail =
    names.length === 0
      ? "The item has neither google_product_category nor product_type; name a category in the mapping's defaults or with --set category=…."
      : "No category here is known for it; name one in the mapping's categories.";
  reading.tell("item_left_out", names.length === 0 ? "value_missing" : "category_unknown", attribute, detail);
  return {};
}

function priceMembers(reading: Reading, told: Told): Record<string, JsonValue> {
  const countries = countriesOf(reading, told);
  const text = reading.first("price");
  const price = text === null ? { fault: "The item has no price." } : parsePrice(text);
  if ("fault" in price) {
    for (const name of ["sale_price", "sale_price_effective_date"]) reading.first(name);
    reading.tell("item_left_out", text === null ? "value_missing" : "value_invalid", "price", price.fault);
    return {};
  }
  const sale = saleOf(reading, price, told.nowMs);
  const { amount, currency } = sale ?? price;
  if (isNothing(price)) reading.notes.push(forNothing("price", text ?? ""));
  return {
    countries,
    on_sale: sale !== null,
    prices: countries.map((country) => ({ country, currency, amount })),
  };
}

function countriesOf(reading: Reading, { constants, defaults }: Told): readonly string[] {
  const shipped = [...new Set(reading.countries("shipping"))].sort();
  const wrong = shipped.filter((country) => !knownCountries.codes.has(country));
  if (wrong.length > 0 && constants["countries"] === undefined) {
    const meant = wrong.map((code) => usualCode(code, knownCountries)).find((code) => code !== null);
    const hint = meant === undefined ? "" : ` ${meant} is the code of ISO 3166-1.`;
    const detail = `${wrong.join(", ")} is not a country.${hint} The mapping's columns translate other words.`;
    reading.tell("item_left_out", "value_invalid", "shipping", detail, wrong.join(", "));
    return [];
  }
  const given = constants["countries"] ?? (shipped.length > 0 ? shipped : defaults["countries"]);
  const countries = Array.isArray(given) ? (given as readonly string[]) : [];
  if (countries.length === 0) {
    const detail =
      "The item ships to no named country; name the countries in the mapping or with --set countries=US.";
    reading.tell("item_left_out", "value_missing", "shipping", detail);
  }
  return countries;
}

/** The sale price that holds now. */
function saleOf(reading: Reading, price: MerchantPrice, nowMs: number): MerchantPrice | null {
  const text = reading.first("sale_price");
  const when = reading.first("sale_price_effective_date");
  if (text === null) return null;
  const leftOut = (attribute: string, detail: string): null => {
    reading.tell("attribute_left_out", "value_invalid", attribute, detail);
    return null;
  };
  const sale = parsePrice(text);
  if ("fault" in sale) return leftOut("sale_price", sale.fault);
  if (isNothing(sale)) return leftOut("sale_price", "Nothing is no price: what has no sale price has none.");
  if (!isReduction(sale, price))
    return leftOut("sale_price", "Must be a lower price in the currency of price.");
  const period = when === null ? null : parsePeriod(when);
  if (when !== null && (period === null || period.untilMs <= period.fromMs)) {
    const detail =
      period === null
        ? "Must be two ISO 8601 times separated by a slash; the sale price was left out."
        : "Ends before it begins; the sale price was left out.";
    return leftOut("sale_price_effective_date", detail);
  }
  return period === null || (period.fromMs <= nowMs && nowMs < period.untilMs) ? sale : null;
}

function isNothing({ amount }: MerchantPrice): boolean {
  return /^0+(?:\.0+)?$/.test(amount);
}

const tagLengthMax = 64;
const tagsMax = 20;

/** The parts of `product_type`, and the condition of what is not new: nobody should take it for new. */
function tagsOf(reading: Reading): readonly string[] | null {
  const condition = conditionOf(reading);
  const parts = reading.all("product_type").flatMap((path) => path.split(">").map((part) => part.trim()));
  const texts = parts.map((part) => readText(part, { isMultiline: false }));
  const fault = texts.find((read) => read.fault !== null)?.fault ?? null;
  if (fault !== null) reading.tell("item_left_out", "value_invalid", "product_type", fault);
  const named = texts.flatMap((read) => (read.fault === null ? [read.text] : []));
  const tags = [...(condition === "new" ? [] : [condition]), ...named].filter(
    (tag) => tag !== "" && [...tag].length <= tagLengthMax,
  );
  return tags.length === 0 ? null : [...new Set(tags)].slice(0, tagsMax);
}

const conditions = ["new", "refurbished", "used"];

function conditionOf(reading: Reading): string {
  const text = reading.first("condition");
  if (text === null) return "new";
  const condition = wordOf(text).replace(/_?condition$/, "");
  if (conditions.includes(condition)) return condition;
  const detail = `Must be one of ${conditions.join(", ")}; the mapping's columns translate other words.`;
  reading.tell("item_left_out", "value_invalid", "condition", detail);
  return "new";
}
