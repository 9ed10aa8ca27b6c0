// An item of a Google Merchant feed as a product (client/README.md has the table). Everything that the record does not say
// is noted: attributes that products do not have, values that are not usable, texts that were shortened.

import type { JsonValue } from "../../protocol/canonical-json.ts";
import { gtinForm } from "../../protocol/records/fields.ts";
import { countries as knownCountries } from "../../protocol/records/vocabularies/countries.ts";
import { availabilities, verticalOf } from "../../protocol/records/vocabularies/taxonomy.ts";
import { productFaults } from "../product-check.ts";
import { recordBytes } from "../record-bytes.ts";
import { type FeedItem, type FeedNote, type NoteCode, type NoteEffect, note } from "./feed-item.ts";
import type { FeedMapping } from "./feed-mapping.ts";
import { categoryOf, ownCategories } from "./google-categories.ts";
import type { MerchantItem } from "./merchant-item.ts";
import { isReduction, type MerchantPrice, parseInstant, parsePeriod, parsePrice } from "./merchant-price.ts";
import { membersOf, productSchema } from "./product-columns.ts";
import { shortened } from "./shorten.ts";

export interface MerchantMapper {
  map(item: MerchantItem): FeedItem;
}

export interface MerchantOptions {
  readonly mapping: FeedMapping;
  /** Unix milliseconds: which sale prices hold and which items have expired is judged at this moment. */
  readonly nowMs: number;
}

/** What an item says, read once: an attribute that is asked for counts as used. */
class Reading {
  readonly notes: FeedNote[] = [];
  readonly #item: MerchantItem;
  readonly #used = new Set<string>();

  constructor(item: MerchantItem) {
    this.#item = item;
  }

  first(name: string): string | null {
    this.#used.add(name);
    return this.#item.attributes.get(name)?.[0] ?? null;
  }

  parts(name: string) {
    this.#used.add(name);
    return this.#item.groups.get(name) ?? [];
  }

  unused(): ReadonlyMap<string, string> {
    const { attributes, groups } = this.#item;
    const values = [...attributes].map(([name, [value = ""]]) => [name, value] as const);
    const grouped = [...groups].map(([name, [parts]]) => [name, [...(parts ?? [])].join(" ")] as const);
    return new Map([...values, ...grouped].filter(([name]) => !this.#used.has(name)));
  }

  tell(effect: NoteEffect, code: NoteCode, attribute: string, detail: string): void {
    this.notes.push(
      note(effect, code, { attribute, value: this.#item.attributes.get(attribute)?.[0] ?? "", detail }),
    );
  }
}

export function createMerchantMapper({ mapping, nowMs }: MerchantOptions): MerchantMapper {
  const categories = ownCategories(mapping.categories ?? {});
  const constants = membersOf(mapping.constants);
  const defaults: Record<string, JsonValue> = { channel: "online", ...membersOf(mapping.defaults) };
  return {
    map: (item) => {
      const reading = new Reading(item);
      const id = reading.first("id");
      const place = { place: item.place, id };
      const told = mapTold(reading, { categories, nowMs, defaults, constants });
      for (const [name, value] of reading.unused()) reading.notes.push(notInSchema(name, value));
      if (reading.notes.some(({ effect }) => effect === "item_left_out"))
        return { ...place, bytes: null, notes: reading.notes };
      const bytes = recordBytes({ tags: [], ...defaults, ...told, ...constants, schema: productSchema });
      const faults = productFaults(bytes).map(({ pointer, detail, code }) =>
        note("item_left_out", code === "member_missing" ? "value_missing" : "record_invalid", {
          attribute: attributeOf(pointer),
          value: reading.first(attributeOf(pointer)) ?? "",
          detail: `${pointer || "/"}: ${detail}`,
        }),
      );
      return { ...place, bytes: faults.length === 0 ? bytes : null, notes: [...reading.notes, ...faults] };
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

function attributeOf(pointer: string): string {
  const member = pointer.split("/")[1] ?? "";
  return sources[member] ?? member;
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

/** The members that the item itself gives. */
function mapTold(reading: Reading, told: Told): Record<string, JsonValue> {
  const members: Record<string, JsonValue> = {};
  const put = (name: string, value: JsonValue | null): void => {
    if (value !== null) members[name] = value;
  };
  dropExpired(reading, told.nowMs);
  put("business_product_id", reading.first("id"));
  put("product_name", shortText(reading, "title", 200));
  put("short_description", shortText(reading, "description", 500));
  put("product_url", reading.first("link"));
  put("brand", reading.first("brand"));
  put("language", reading.first("content_language")?.toLowerCase().split(/[-_]/)[0] ?? null);
  put("availability", availabilityOf(reading, told));
  put("gtin", gtinOf(reading));
  Object.assign(members, categoryMembers(reading, told), priceMembers(reading, told));
  put("tags", tagsOf(reading));
  return members;
}

function dropExpired(reading: Reading, nowMs: number): void {
  const text = reading.first("expiration_date");
  if (text === null) return;
  const atMs = parseInstant(text) ?? Date.parse(text);
  if (Number.isNaN(atMs))
    reading.tell("attribute_left_out", "value_invalid", "expiration_date", "Must be an ISO 8601 time.");
  else if (atMs <= nowMs)
    reading.tell("item_left_out", "expired", "expiration_date", "The item has expired.");
}

function shortText(reading: Reading, name: "title" | "description", max: number): string | null {
  const text = reading.first(name);
  if (text === null) return null;
  const lines = name === "title" ? [text] : text.split(/\r\n?|\n/);
  const clean = lines.map((line) => line.replaceAll(/\s+/g, " ").trim()).join("\n");
  const short = shortened(clean, max);
  if (short !== clean)
    reading.tell("value_changed", "value_shortened", name, `Shortened to at most ${max} characters.`);
  return short;
}

function availabilityOf(reading: Reading, { defaults, constants }: Told): string | null {
  const text = reading.first("availability");
  if (text === null) return null;
  const code = text.toLowerCase().replaceAll(/[ -]+/g, "_");
  if (availabilities.codes.has(code)) return code;
  const effect = "availability" in { ...defaults, ...constants } ? "attribute_left_out" : "item_left_out";
  reading.tell(
    effect,
    "value_invalid",
    "availability",
    `Must be one of ${[...availabilities.codes].join(", ")}.`,
  );
  return null;
}

function gtinOf(reading: Reading): string | null {
  const text = reading.first("gtin");
  if (text === null) return null;
  const digits = text.replaceAll(/[ -]/g, "");
  if (gtinForm.accepts(digits)) return digits;
  reading.tell("attribute_left_out", "value_invalid", "gtin", `Must be ${gtinForm.meaning}.`);
  return null;
}

function categoryMembers(reading: Reading, told: Told): Record<string, JsonValue> {
  const names = ["google_product_category", "product_type"].flatMap((name) => reading.first(name) ?? []);
  const found =
    told.constants["category"] ?? categoryOf(names, told.categories) ?? told.defaults["category"] ?? null;
  if (typeof found === "string") return { category: found, vertical: verticalOf(found) ?? "" };
  const attribute =
    reading.first("google_product_category") === null ? "product_type" : "google_product_category";
  const detail =
    names.length === 0
      ? "The item has neither google_product_category nor product_type; name a category in the mapping's defaults."
      : "No category here is known for it; name one in the mapping's categories.";
  reading.tell("item_left_out", names.length === 0 ? "value_missing" : "category_unknown", attribute, detail);
  return {};
}

function priceMembers(reading: Reading, told: Told): Record<string, JsonValue> {
  const countries = countriesOf(reading, told);
  const text = reading.first("price");
  const price = text === null ? null : parsePrice(text);
  const sale = saleOf(reading, price, told.nowMs);
  if (price === null) {
    const detail = "Must be an amount and a currency, such as 19.99 USD.";
    reading.tell("item_left_out", text === null ? "value_missing" : "value_invalid", "price", detail);
    return {};
  }
  const { amount, currency } = sale ?? price;
  return {
    countries,
    on_sale: sale !== null,
    prices: countries.map((country) => ({ country, currency, amount })),
  };
}

function countriesOf(reading: Reading, { constants, defaults }: Told): readonly string[] {
  const shipped = reading.parts("shipping").flatMap((parts) => parts.get("country")?.toUpperCase() ?? []);
  const known = [...new Set(shipped)].filter((country) => knownCountries.codes.has(country)).sort();
  const given = constants["countries"] ?? (known.length > 0 ? known : defaults["countries"]);
  const countries = Array.isArray(given) ? (given as readonly string[]) : [];
  if (countries.length === 0) {
    const detail =
      "The item ships to no named country; name the countries in the mapping or with --set countries=US.";
    reading.tell("item_left_out", "value_missing", "shipping", detail);
  }
  return countries;
}

/** The sale price that holds now. */
function saleOf(reading: Reading, price: MerchantPrice | null, nowMs: number): MerchantPrice | null {
  const text = reading.first("sale_price");
  const when = reading.first("sale_price_effective_date");
  if (text === null || price === null) return null;
  const sale = parsePrice(text);
  if (sale === null || !isReduction(sale, price)) {
    const detail = "Must be a lower price in the currency of price.";
    reading.tell("attribute_left_out", "value_invalid", "sale_price", detail);
    return null;
  }
  const period = when === null ? null : parsePeriod(when);
  if (when !== null && period === null) {
    const detail = "Must be two ISO 8601 times separated by a slash; the sale price was left out.";
    reading.tell("attribute_left_out", "value_invalid", "sale_price_effective_date", detail);
    return null;
  }
  return period === null || (period.fromMs <= nowMs && nowMs < period.untilMs) ? sale : null;
}

const tagLengthMax = 64;
const tagsMax = 20;

/** The parts of `product_type`, and the condition of what is not new: nobody should take it for new. */
function tagsOf(reading: Reading): readonly string[] {
  const condition = reading.first("condition")?.toLowerCase() ?? "new";
  const parts = (reading.first("product_type") ?? "").split(">").map((part) => part.trim());
  const tags = [...(condition === "new" ? [] : [condition]), ...parts].filter(
    (tag) => tag !== "" && [...tag].length <= tagLengthMax,
  );
  return [...new Set(tags)].slice(0, tagsMax);
}
