// The programs of shops whose exports are read without a mapping, by the columns that each documents: rows that are no product
// of their own are skipped, and what a variant leaves empty is that of its product.

import { type FeedNote, note } from "./feed-item.ts";
import { parseInstant } from "./merchant-price.ts";

/** Cells by column. */
export type Cells = Readonly<Record<string, string>>;

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
  /** From which column each of {@link shopHeader} comes, to tell faults by it. */
  readonly sources: Readonly<Record<string, string>>;
}

export interface From {
  readonly shop: string;
  readonly currency: string;
  readonly nowMs: number;
  /** Null where no row before is the product of which the row is a variant. */
  readonly parent: Cells | null;
}

/** Cells of members, and those that are read by a rule. */
export interface Product {
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
  /** A lower price that holds now. */
  readonly sale?: string | undefined;
  /** The price before. */
  readonly before?: string;
  /** What is wrong with the row besides its members. */
  readonly faults: readonly FeedNote[];
}

const fault = (attribute: string, value: string, detail: string): FeedNote =>
  note("item_left_out", "value_invalid", { attribute, value, detail });

/** A price that is lower for a time, while it holds, and what is wrong with that time. */
function saleOf(
  cells: Cells,
  columns: { readonly price: string; readonly from: string; readonly until: string },
  nowMs: number,
): Pick<Product, "sale" | "faults"> {
  const sale = cell(cells, columns.price);
  // WooCommerce writes hours of one digit.
  const [from, until] = [columns.from, columns.until].map((name) =>
    cell(cells, name).replace(/ (?=\d:)/, " 0"),
  );
  if (!sale) return { faults: [] };
  const fromMs = from ? parseInstant(from) : Number.NEGATIVE_INFINITY;
  const untilMs = until ? parseInstant(until, "end") : Number.POSITIVE_INFINITY;
  const detail = `Must be a time such as 2026-11-01 or 2026-11-01 08:00:00, since the price of ${columns.price} depends on it.`;
  if (fromMs === null || untilMs === null) {
    const odd = fromMs === null ? columns.from : columns.until;
    return { faults: [fault(odd, cell(cells, odd), detail)] };
  }
  return { sale: fromMs <= nowMs && nowMs < untilMs ? sale : "", faults: [] };
}

function listed(text: string, separator: string): readonly string[] {
  return text.split(separator).map((each) => each.trim());
}

/** Whether a row is of what customers see; a fault where its cell is neither word. */
function hidden(
  column: string,
  value: string,
  { shown, not }: { readonly shown: readonly string[]; readonly not: readonly string[] },
): boolean | FeedNote {
  const word = value.toLowerCase();
  if (shown.includes(word)) return false;
  return (
    not.includes(word) ||
    fault(column, value, `Must be one of ${[...shown, ...not].filter(Boolean).join(", ")}.`)
  );
}

/** Null for a product that customers do not see; else what nobody can tell of that. */
function unsure(...found: readonly (boolean | FeedNote)[]): readonly FeedNote[] | null {
  return found.includes(true) ? null : found.filter((each) => typeof each !== "boolean");
}

/** The text of a column, empty where the row has none. */
export const cell = (cells: Cells, name: string): string => cells[name] ?? "";
/** What a variant leaves empty is that of its product. */
const inherited = ({ parent }: From, cells: Cells, name: string): string =>
  cell(cells, name) || cell(parent ?? {}, name);

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
  sources: {
    business_product_id: "Variant SKU",
    product_name: "Title",
    short_description: "Body (HTML)",
    brand: "Vendor",
    gtin: "Variant Barcode",
    product_url: "Handle",
    tags: "Tags",
    availability: "Variant Inventory Qty",
    price: "Variant Price",
    before: "Variant Compare At Price",
  },
  namesOf: (cells) => (cell(cells, "Title") === "" ? [] : [cell(cells, "Handle")]),
  parentOf: (cells) => cell(cells, "Handle"),
  productOf: (cells, from) => {
    const of = (name: string): string => inherited(from, cells, name);
    const price = cell(cells, "Variant Price");
    // A row without a price only has a further picture.
    const faults = unsure(
      hidden("Status", of("Status"), { shown: ["active", ""], not: ["draft", "archived", "unlisted"] }),
      hidden("Published", of("Published"), { shown: ["true", ""], not: ["false"] }),
    );
    if (price === "" || faults === null) return null;
    const options = [1, 2, 3]
      .map((at) => cell(cells, `Option${at} Value`))
      .filter((value) => !["", "Default Title"].includes(value));
    const [handle, title] = [cell(cells, "Handle"), of("Title")];
    const untitled = fault("Title", "", "Neither this row nor one before it with its handle has a title.");
    return {
      id: cell(cells, "Variant SKU") || [handle, ...options].join("/"),
      name: [title, ...(options.length > 0 ? [options.join(" / ")] : [])].join(" – "),
      text: of("Body (HTML)"),
      brand: of("Vendor"),
      gtin: cell(cells, "Variant Barcode").replace(/^'/, ""),
      url: handle === "" ? "" : `${from.shop}/products/${handle}`,
      availability: shopifyStock(cells),
      tags: listed(of("Tags"), ","),
      category: of("Product Category") || of("Google Shopping / Google Product Category"),
      headings: [of("Type")],
      price,
      before: cell(cells, "Variant Compare At Price"),
      faults: title === "" ? [untitled, ...faults] : faults,
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

/** Commas within an item are escaped. */
function wooItems(text: string): readonly string[] {
  return text.split(/(?<!\\),/).map((each) => each.replaceAll("\\,", ",").trim());
}

/** Line ends are written `\n`, and `\n` itself with one more backslash. */
function wooText(text: string): string {
  return text.replaceAll(/(\\?)\\n/g, (_, more: string) => (more === "" ? "\n" : "\\n"));
}

/** Amounts have the shop's own decimal mark, and none for thousands. */
function wooAmount(text: string | undefined): string {
  return (text ?? "").replace(/^([0-9]+),([0-9]{1,2})$/, "$1.$2");
}

const wooShown = { shown: ["1"], not: ["0", "-1", ""] };

/** woocommerce.com, «Product CSV Importer and Exporter». */
const wooCommerce: ShopExport = {
  program: "WooCommerce",
  columns: ["ID", "Type", "SKU", "Name", "In stock?", "Regular price"],
  sources: {
    business_product_id: "SKU",
    product_name: "Name",
    short_description: "Short description",
    brand: "Brands",
    gtin: "GTIN, UPC, EAN, or ISBN",
    product_url: "External URL",
    tags: "Tags",
    availability: "In stock?",
    price: "Regular price",
    sale: "Sale price",
  },
  namesOf: (cells) => [`id:${cell(cells, "ID")}`, cell(cells, "SKU")],
  parentOf: (cells) => cell(cells, "Parent") || null,
  productOf: (all, from) => {
    // An apostrophe stands before what a spreadsheet would calculate.
    const unmarked = (cells: Cells): Cells =>
      Object.fromEntries(
        Object.entries(cells).map(([name, text]) => [name, text.replace(/^'(?=[=+@-])/, "")]),
      );
    const [cells, parent] = [unmarked(all), unmarked(from.parent ?? {})];
    const of = (name: string): string => cell(cells, name) || cell(parent, name);
    const types = listed(cell(cells, "Type"), ",");
    if (types.includes("variable") || types.includes("grouped")) return null;
    const isVariation = types.includes("variation");
    const faults = unsure(
      hidden("Published", cell(cells, "Published"), wooShown),
      ...(from.parent === null ? [] : [hidden("Published", cell(parent, "Published"), wooShown)]),
      ...[cells, parent].map((each) => /^hidden$/i.test(cell(each, "Visibility in catalog"))),
      ...(isVariation && from.parent === null
        ? [fault("Parent", cell(cells, "Parent"), "No row before this one is its product.")]
        : []),
    );
    if (faults === null) return null;
    const page = cell(isVariation ? parent : cells, "ID");
    const columns = { price: "Sale price", from: "Date sale price starts", until: "Date sale price ends" };
    const sale = saleOf(cells, columns, from.nowMs);
    return {
      id: cell(cells, "SKU") || cell(cells, "ID"),
      name: of("Name"),
      text: wooText(of("Short description") || of("Description")),
      brand: wooItems(of("Brands")).join(", "),
      gtin: cell(cells, "GTIN, UPC, EAN, or ISBN"),
      url: cell(cells, "External URL") || (page === "" ? "" : `${from.shop}/?p=${page}`),
      availability:
        { "1": "in_stock", "0": "out_of_stock" }[cell(cells, "In stock?")] ?? cell(cells, "In stock?"),
      tags: wooItems(of("Tags")),
      category: "",
      headings: wooItems(of("Categories")),
      price: wooAmount(cell(cells, "Regular price")),
      sale: wooAmount(sale.sale),
      faults: [...faults, ...sale.faults],
    };
  },
};

/** The value of an attribute in `code=value,code=value`, in which a value may have commas. */
function magentoAttribute(cells: Cells, code: string): string {
  const pairs = cell(cells, "additional_attributes").split(/[,;|](?=[a-z][a-z0-9_]*=)/);
  return pairs.find((pair) => pair.startsWith(`${code}=`))?.slice(code.length + 1) ?? "";
}

/** experienceleague.adobe.com, «Product attributes for import and export» (Magento Open Source, Adobe Commerce). */
const magento: ShopExport = {
  program: "Magento",
  columns: ["sku", "store_view_code", "product_type", "product_online", "price", "url_key"],
  sources: {
    business_product_id: "sku",
    product_name: "name",
    short_description: "short_description",
    brand: "additional_attributes",
    product_url: "url_key",
    availability: "is_in_stock",
    price: "price",
    sale: "special_price",
  },
  namesOf: () => [],
  parentOf: () => null,
  productOf: (cells, from) => {
    const isPart = /^(?:configurable|bundle|grouped)$/.test(cell(cells, "product_type"));
    // A row of a store view has the texts of another language for a product that has a row of its own.
    if (isPart || cell(cells, "store_view_code") !== "") return null;
    const faults = unsure(
      hidden("product_online", cell(cells, "product_online"), { shown: ["1"], not: ["2", "0"] }),
      hidden("visibility", cell(cells, "visibility"), {
        shown: ["catalog, search", "catalog", "search", ""],
        not: ["not visible individually"],
      }),
    );
    if (faults === null) return null;
    const [starts, ends] = ["special_price_from_date", "special_price_to_date"];
    const sale = saleOf(cells, { price: "special_price", from: starts, until: ends }, from.nowMs);
    const [key, stock] = [cell(cells, "url_key"), cell(cells, "is_in_stock")];
    const paths = listed(cell(cells, "categories"), ",").map((path) =>
      listed(path, "/").slice(1).join(" > "),
    );
    return {
      id: cell(cells, "sku"),
      name: cell(cells, "name"),
      text: cell(cells, "short_description") || cell(cells, "description"),
      brand: magentoAttribute(cells, "manufacturer"),
      gtin: "",
      url: key === "" ? "" : `${from.shop}/${key}.html`,
      availability: { "1": "in_stock", "0": "out_of_stock" }[stock] ?? stock,
      tags: [],
      category: "",
      headings: paths,
      price: cell(cells, "price"),
      sale: sale.sale,
      faults: [...faults, ...sale.faults],
    };
  },
};

export const shopPrograms = [shopify, wooCommerce, magento];
