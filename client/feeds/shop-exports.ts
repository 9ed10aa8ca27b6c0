// Exports of the products of shop programs, as those programs document their columns. Each is read without a mapping: rows that
// are no product of their own are skipped, what a variant leaves empty is that of its product, and columns that say nothing of
// a product here are ignored. What is derived of several columns (availability, prices, addresses) is in columns of its own,
// and a cell that cannot be used is passed on as it is, so that it becomes a fault of its row.

import { verticalOf } from "../../protocol/records/vocabularies/taxonomy.ts";
import { type FeedNote, note } from "./feed-item.ts";
import type { FeedMapping } from "./feed-mapping.ts";
import { readAmount } from "./feed-values.ts";
import { categoryOf, ownCategories } from "./google-categories.ts";
import { parseInstant } from "./merchant-price.ts";

/** Cells by column. */
type Cells = Readonly<Record<string, string>>;

export interface ShopExport {
  readonly program: string;
  /** Columns by which an export is recognised. */
  readonly columns: readonly string[];
  /** Other names of columns, by which other versions of the program write them. */
  readonly aliases?: ReadonlyMap<string, string>;
  /** What a row is of a product; null for a row that is none. `parent` is the row of the product of which it is a variant. */
  readonly productOf: (cells: Cells, from: From) => Product | null;
  /** What other rows name a row by. */
  readonly namesOf: (cells: Cells) => readonly string[];
  readonly parentOf: (cells: Cells) => string | null;
}

interface From {
  readonly shop: string;
  readonly currency: string;
  readonly nowMs: number;
  readonly parent: Cells;
}

/** Cells of members, and those that are read by a rule. */
interface Product {
  readonly id: string;
  readonly name: string;
  readonly text: string;
  readonly brand: string;
  readonly gtin: string;
  readonly url: string;
  readonly availability: string;
  readonly tags: readonly string[];
  /** Names of the category, the program's own first; a heading of the shop's own contradicts no default. */
  readonly category: string;
  readonly headings: readonly string[];
  readonly price: string;
  readonly onSale: string;
}

/** A price, one that may be lower for a time, and whether it is that time; null where nobody can tell. */
interface Prices {
  readonly regular: string;
  readonly sale: string;
  readonly isNow: boolean | null;
}

/** The current price, and whether it is a sale. */
function priced({ regular, sale, isNow }: Prices, { currency }: From): Pick<Product, "price" | "onSale"> {
  if (sale === "" || isNow === false) return { price: regular, onSale: "no" };
  const isOdd = (cell: string): boolean => readAmount(cell, { currency }).fault !== null || Number(cell) < 0;
  const odd = [sale, regular].find(isOdd);
  if (isNow === null || odd !== undefined) return { price: sale, onSale: odd ?? sale };
  const isLower = Number(sale) > 0 && Number(sale) < Number(regular);
  return { price: isLower ? sale : regular, onSale: isLower ? "yes" : "no" };
}

/** Whether a period holds; null where one of its ends is not a time. */
function isWithin(from: string, until: string, nowMs: number): boolean | null {
  const fromMs = from === "" ? Number.NEGATIVE_INFINITY : parseInstant(from);
  const untilMs = until === "" ? Number.POSITIVE_INFINITY : parseInstant(until, "end");
  return fromMs === null || untilMs === null ? null : fromMs <= nowMs && nowMs < untilMs;
}

function listed(text: string, separator: string): readonly string[] {
  return text.split(separator).map((each) => each.trim());
}

const cell = (cells: Cells, name: string): string => cells[name] ?? "";
/** What a variant leaves empty is that of its product. */
const inherited = ({ parent }: From, cells: Cells, name: string): string =>
  cell(cells, name) || cell(parent, name);

/** help.shopify.com, «Using CSV files to import and export products», as it was until 2024, and as it is since. */
const shopify: ShopExport = {
  program: "Shopify",
  columns: ["Handle", "Title", "Vendor", "Variant Price"],
  aliases: new Map([
    ["URL handle", "Handle"],
    ["Description", "Body (HTML)"],
    ["Product category", "Product Category"],
    ["Published on online store", "Published"],
    ["SKU", "Variant SKU"],
    ["Barcode", "Variant Barcode"],
    ["Option1 value", "Option1 Value"],
    ["Option2 value", "Option2 Value"],
    ["Option3 value", "Option3 Value"],
    ["Price", "Variant Price"],
    ["Compare-at price", "Variant Compare At Price"],
    ["Inventory tracker", "Variant Inventory Tracker"],
    ["Inventory quantity", "Variant Inventory Qty"],
    ["Continue selling when out of stock", "Variant Inventory Policy"],
    ["Google Shopping / Google product category", "Google Shopping / Google Product Category"],
  ]),
  namesOf: (cells) => (cell(cells, "Title") === "" ? [] : [cell(cells, "Handle")]),
  parentOf: (cells) => cell(cells, "Handle"),
  productOf: (cells, from) => {
    const of = (name: string): string => inherited(from, cells, name);
    const price = cell(cells, "Variant Price");
    // A row without a price only has a further picture.
    const isHidden = /^(?:draft|archived|unlisted)$/i.test(of("Status")) || /^false$/i.test(of("Published"));
    if (price === "" || isHidden) return null;
    const options = [1, 2, 3]
      .map((at) => cell(cells, `Option${at} Value`))
      .filter((value) => !["", "Default Title"].includes(value));
    const before = cell(cells, "Variant Compare At Price");
    const handle = cell(cells, "Handle");
    return {
      id: cell(cells, "Variant SKU") || [handle, ...options].join("/"),
      name: [of("Title"), ...(options.length > 0 ? [options.join(" / ")] : [])].join(" – "),
      text: of("Body (HTML)"),
      brand: of("Vendor"),
      gtin: cell(cells, "Variant Barcode").replace(/^'/, ""),
      url: handle === "" ? "" : `${from.shop}/products/${handle}`,
      availability: shopifyStock(cells),
      tags: listed(of("Tags"), ","),
      category: of("Product Category") || of("Google Shopping / Google Product Category"),
      headings: [of("Type")],
      ...(before === "" || before === "0"
        ? { price, onSale: "no" }
        : { ...priced({ regular: before, sale: price, isNow: true }, from), price }),
    };
  },
};

function shopifyStock(cells: Cells): string {
  const [quantity, policy] = [cell(cells, "Variant Inventory Qty"), cell(cells, "Variant Inventory Policy")];
  if (cell(cells, "Variant Inventory Tracker") === "") return "in_stock";
  if (!/^-?[0-9]+$/.test(quantity)) return quantity;
  if (Number(quantity) > 0) return "in_stock";
  if (/^(?:continue|true)$/i.test(policy)) return "backorder";
  return /^(?:deny|false|)$/i.test(policy) ? "out_of_stock" : policy;
}

/** woocommerce.com, «Product CSV Importer and Exporter». */
const wooCommerce: ShopExport = {
  program: "WooCommerce",
  columns: ["ID", "Type", "SKU", "Name", "In stock?", "Regular price"],
  namesOf: (cells) => [`id:${cell(cells, "ID")}`, cell(cells, "SKU")],
  parentOf: (cells) => cell(cells, "Parent") || null,
  productOf: (cells, from) => {
    const of = (name: string): string => inherited(from, cells, name);
    const types = listed(cell(cells, "Type"), ",");
    const isHidden = of("Published") !== "1" || /^hidden$/i.test(of("Visibility in catalog"));
    if (isHidden || types.includes("variable") || types.includes("grouped")) return null;
    const page = cell(types.includes("variation") ? from.parent : cells, "ID");
    const isNow = isWithin(
      cell(cells, "Date sale price starts"),
      cell(cells, "Date sale price ends"),
      from.nowMs,
    );
    const paths = listed(of("Categories"), ",");
    return {
      id: cell(cells, "SKU") || cell(cells, "ID"),
      name: of("Name"),
      text: of("Short description") || of("Description"),
      brand: of("Brands"),
      gtin: cell(cells, "GTIN, UPC, EAN, or ISBN"),
      url: cell(cells, "External URL") || (page === "" ? "" : `${from.shop}/?p=${page}`),
      availability:
        { "1": "in_stock", "0": "out_of_stock" }[cell(cells, "In stock?")] ?? cell(cells, "In stock?"),
      tags: listed(of("Tags"), ","),
      category: "",
      headings: paths,
      ...priced({ regular: cell(cells, "Regular price"), sale: cell(cells, "Sale price"), isNow }, from),
    };
  },
};

/** experienceleague.adobe.com, «Product attributes for import and export» (Magento Open Source, Adobe Commerce). */
const magento: ShopExport = {
  program: "Magento",
  columns: ["sku", "store_view_code", "product_type", "product_online", "price", "url_key"],
  namesOf: () => [],
  parentOf: () => null,
  productOf: (cells, from) => {
    const isHidden =
      cell(cells, "product_online") === "2" || cell(cells, "visibility") === "Not Visible Individually";
    const isPart = /^(?:configurable|bundle|grouped)$/.test(cell(cells, "product_type"));
    // A row of a store view has the texts of another language for a product that has a row of its own.
    if (isHidden || isPart || cell(cells, "store_view_code") !== "") return null;
    const isNow = isWithin(
      cell(cells, "special_price_from_date"),
      cell(cells, "special_price_to_date"),
      from.nowMs,
    );
    const [key, stock] = [cell(cells, "url_key"), cell(cells, "is_in_stock")];
    const paths = listed(cell(cells, "categories"), ",").map((path) =>
      listed(path, "/").slice(1).join(" > "),
    );
    return {
      id: cell(cells, "sku"),
      name: cell(cells, "name"),
      text: cell(cells, "short_description") || cell(cells, "description"),
      brand: "",
      gtin: "",
      url: key === "" ? "" : `${from.shop}/${key}.html`,
      availability: { "1": "in_stock", "0": "out_of_stock" }[stock] ?? stock,
      tags: [],
      category: "",
      headings: paths,
      ...priced({ regular: cell(cells, "price"), sale: cell(cells, "special_price"), isNow }, from),
    };
  },
};

/** The export that a header is of; null for any other table. */
export function shopExportOf(header: readonly string[]): ShopExport | null {
  const isOf = (program: ShopExport): boolean => {
    const names = columnsOf(program, header);
    return program.columns.every((name) => names.includes(name));
  };
  return [shopify, wooCommerce, magento].find(isOf) ?? null;
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
  ...[
    "business_product_id",
    "product_name",
    "short_description",
    "brand",
    "gtin",
    "product_url",
    "availability",
  ],
  ...["tags", "category", "vertical", "on_sale", "price"],
];

/** The mapping by which rows under {@link shopHeader} are read. */
export function shopMapping(mapping: FeedMapping, currency: string): FeedMapping {
  return {
    ...mapping,
    defaults: { channel: "online", ...mapping.defaults },
    prices: [{ amount: "price", currency }],
    separator: "|",
  };
}

const tagsMax = 20;
const tagLengthMax = 64;

/** Makes rows under {@link shopHeader} of an export's rows; null for a row that is no product. */
export class ShopRows {
  readonly #export: ShopExport;
  readonly #header: readonly string[];
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
    const parent = this.#parents.get(this.#export.parentOf(cells) ?? "") ?? {};
    const product = this.#export.productOf(cells, { ...this.#settings, parent });
    if (product === null) return null;
    const tags = product.tags
      .filter((tag) => tag !== "" && [...tag].length <= tagLengthMax)
      .slice(0, tagsMax);
    const { code: category, fault } = this.#category(product);
    const { id, name, text, brand, gtin, url, availability, onSale, price } = product;
    return {
      cells: [
        ...[id, name, text, brand, gtin, url, availability],
        ...[[...new Set(tags)].join("|"), category, verticalOf(category) ?? "", onSale, price],
      ],
      notes: [
        ...(fault === null ? [] : [fault]),
        ...this.#header.flatMap((column) => marketNotes(column, cell(cells, column))),
      ],
    };
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
