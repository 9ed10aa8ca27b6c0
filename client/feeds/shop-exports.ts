// Exports of the products of shop programs (shop-programs.ts) as rows of a table: columns that say nothing of a product here are
// ignored, what is derived of several columns (availability, prices, addresses) is in columns of its own, and a cell that cannot
// be used is passed on as it is, so that it becomes a fault of its row.

import { verticalOf } from "../../protocol/records/vocabularies/taxonomy.ts";
import { type FeedNote, note } from "./feed-item.ts";
import type { FeedMapping } from "./feed-mapping.ts";
import { categoryOf, ownCategories } from "./google-categories.ts";
import { type Cells, cell, type From, type Product, type ShopExport, shopPrograms } from "./shop-programs.ts";

/** The export that a header is of; null for any other table. */
export function shopExportOf(header: readonly string[]): ShopExport | null {
  const isOf = (program: ShopExport): boolean => {
    const names = columnsOf(program, header);
    return program.columns.every((name) => names.includes(name));
  };
  return shopPrograms.find(isOf) ?? null;
}

/** The columns of a header by the names that are read here. */
function columnsOf({ aliases }: ShopExport, header: readonly string[]): readonly string[] {
  return header.map((name) => aliases?.get(name.trim()) ?? name.trim());
}

/** Of two columns that say one thing nobody can tell which is meant; null where each is there once. */
export function columnTwice(program: ShopExport, header: readonly string[]): string | null {
  const names = columnsOf(program, header);
  const at = names.findIndex((name, index) => name !== "" && names.indexOf(name) < index);
  return at < 0 ? null : (header[at] ?? null);
}

/** What `--set` says of a shop besides members: none of these exports names it. */
export const shopSettings = ["shop", "currency"] as const;

export const shopHeader = [
  "business_product_id",
  "product_name",
  "short_description",
  "brand",
  "gtin",
  "product_url",
  "availability",
  "tags",
  "category",
  "vertical",
  "price",
  "sale",
  "before",
];

/** Stands in no tag. */
const tagSeparator = "\u001F";

/** The mapping by which rows under {@link shopHeader} are read. */
export function shopMapping(mapping: FeedMapping, currency: string): FeedMapping {
  return {
    ...mapping,
    defaults: { channel: "online", ...mapping.defaults },
    prices: [{ amount: "price", sale: "sale", before: "before", currency }],
    separator: tagSeparator,
  };
}

const tagsMax = 20;
const tagLengthMax = 64;

/** Makes rows under {@link shopHeader} of an export's rows; null for a row that is no product. */
export class ShopRows {
  readonly #export: ShopExport;
  readonly #header: readonly string[];
  readonly #written: readonly string[];
  readonly #settings: {
    readonly shop: string;
    readonly currency: string;
    readonly nowMs: number;
    /** Categories of the mapping: of all products, and of those that name none. */
    readonly constant: string;
    readonly otherwise: string;
  };
  readonly #categories: ReadonlyMap<string, string>;
  readonly #parents = new Map<string, Cells>();

  constructor(
    program: ShopExport,
    header: readonly string[],
    settings: Pick<From, "shop" | "currency" | "nowMs"> & { readonly mapping: FeedMapping },
  ) {
    const { shop, currency, nowMs, mapping } = settings;
    const given = (from: FeedMapping["defaults"]): string => {
      const category = from?.["category"];
      return typeof category === "string" ? category : "";
    };
    this.#export = program;
    this.#header = columnsOf(program, header);
    this.#written = header;
    this.#settings = {
      shop: shop.replace(/\/$/, ""),
      currency,
      nowMs,
      constant: given(mapping.constants),
      otherwise: given(mapping.defaults),
    };
    this.#categories = ownCategories(mapping.categories ?? {});
  }

  /** A row under {@link shopHeader}, and what of it no record says; null for a row that is no product. */
  row(
    fields: readonly string[],
  ): { readonly cells: readonly string[]; readonly notes: readonly FeedNote[] } | null {
    const cells = Object.fromEntries(this.#header.map((name, at) => [name, (fields[at] ?? "").trim()]));
    for (const name of this.#export.namesOf(cells)) if (name !== "") this.#parents.set(name, cells);
    const parent = this.#parents.get(this.#export.parentOf(cells) ?? "") ?? null;
    const product = this.#export.productOf(cells, { ...this.#settings, parent });
    if (product === null) return null;
    const tags = product.tags
      .filter((tag) => tag !== "" && [...tag].length <= tagLengthMax)
      .slice(0, tagsMax);
    const { code: category, fault: why } = this.#category(product);
    const { id, name, text, brand, gtin, url, availability, price, sale = "", before = "" } = product;
    return {
      cells: [
        id,
        name,
        text,
        brand,
        gtin,
        url,
        availability,
        [...new Set(tags)].join(tagSeparator),
        category,
        verticalOf(category) ?? "",
        price,
        sale,
        before,
      ],
      notes: [
        ...product.faults.map((each) => ({ ...each, attribute: this.#spelled(each.attribute) })),
        ...(why === null ? [] : [why]),
        ...this.#header.flatMap((column) => marketNotes(column, cell(cells, column))),
      ],
    };
  }

  /** The column of the file from which one of {@link shopHeader} comes. */
  columnOf(name: string): string {
    return this.#spelled(this.#export.sources[name] ?? name);
  }

  /** A column as the file spells it. */
  #spelled(column: string): string {
    return this.#written[this.#header.indexOf(column)]?.trim() ?? column;
  }

  /** The category, or why there is none. A heading of the shop's own contradicts no default. */
  #category({ category, headings }: Product): { readonly code: string; readonly fault: FeedNote | null } {
    const { constant, otherwise } = this.#settings;
    const named = [category, ...headings].filter((name) => name !== "");
    const found = constant || categoryOf(named, this.#categories) || (category === "" ? otherwise : "");
    if (found !== "") return { code: found, fault: null };
    const [value] = named;
    const forAll = category === "" ? " for all with --set category=…" : "";
    if (value === undefined) {
      const about = { attribute: "category", detail: `The row names no category; name one${forAll}.` };
      return { code: "", fault: note("item_left_out", "value_missing", about) };
    }
    const one = `name one in the mapping's categories${forAll === "" ? "" : `, or${forAll}`}.`;
    const about = { attribute: "category", value, detail: `No category here is known for it; ${one}` };
    return { code: "", fault: note("item_left_out", "category_unknown", about) };
  }
}

/** Shopify has further prices for markets, but does not say of which countries these are. */
function marketNotes(column: string, price: string): readonly FeedNote[] {
  if (!column.startsWith("Price / ") || price === "") return [];
  const detail =
    "Of this market's countries the export says nothing: --set countries only those of the primary market.";
  return [note("attribute_left_out", "attribute_not_in_schema", { attribute: column, value: price, detail })];
}
