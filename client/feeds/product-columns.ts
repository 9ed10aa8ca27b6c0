// A product as a row of named text columns, the form in which most systems export their catalogue. Without a mapping file
// each column is a member of the product record under its own name; list items are separated by `|`; a price is the pair of
// columns `price_<CC>` and `price_currency_<CC>`, named as in search rows. An empty cell means the member is absent. What a cell
// says but cannot be used is a fault of its row: it never becomes a default, and nothing is silently taken in its place.

import type { JsonValue } from "../../protocol/canonical-json.ts";
import { nearestName } from "../../protocol/nearest.ts";
import type { Field } from "../../protocol/records/fields.ts";
import { httpsUrlForm } from "../../protocol/records/https-url.ts";
import { products } from "../../protocol/records/products.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import { type FeedNote, forNothing, markupRemoved, note } from "./feed-item.ts";
import { type FeedMapping, mappedMembers } from "./feed-mapping.ts";
import { type ReadValue, readAmount, readCell, readGtin, readLink } from "./feed-values.ts";
import { isMerchantHeader } from "./merchant-item.ts";
import { leftOver, readText } from "./published-text.ts";
import { shortened } from "./shorten.ts";

export const productSchema = `svc/products/${products.version}`;

/** Texts of which a part says less, but nothing else. */
const shortTexts = ["product_name", "short_description"];
const defaultSeparator = "|";
const defaultBooleans = { true: ["true", "yes", "1"], false: ["false", "no", "0"] };
const priceColumn = /^price_([A-Z]{2})$/;
const currencyColumn = /^price_currency_([A-Z]{2})$/;
const columnNames = [...mappedMembers, "price_US", "price_currency_US"];

/** What one column is for. */
type Use =
  | { readonly kind: "member"; readonly name: string; readonly rule: ColumnRule | null }
  | { readonly kind: "price"; readonly country: string }
  | { readonly kind: "currency"; readonly country: string }
  /** It is left out, or a rule of `prices` reads it. */
  | { readonly kind: "none" };

type MemberUse = Pick<Extract<Use, { kind: "member" }>, "name" | "rule">;
type ColumnRule = Exclude<NonNullable<FeedMapping["columns"]>[string], string | null>;
type PriceRule = NonNullable<FeedMapping["prices"]>[number];

export interface ColumnReader {
  /** The record of one row; `record` is null when a note says why there is none. `id` is what the row says of it. */
  read(cells: readonly string[]): RowRecord;
}

export interface RowRecord {
  readonly id: string | null;
  readonly record: Record<string, JsonValue> | null;
  readonly notes: readonly FeedNote[];
}

/**
 * Refuses a header with a column that neither products nor the mapping have, and suggests the nearest that exists; and one in
 * which two columns say the same. `set` are columns that the file does not have, and their cells; a cell of the file comes
 * before them.
 */
export function createColumnReader(
  header: readonly string[],
  mapping: FeedMapping,
  set: ReadonlyMap<string, string> = new Map(),
): Result<ColumnReader, "column_unknown" | "column_twice"> {
  const names = [...set.keys(), ...header.map((name) => name.trim())];
  const missing = columnsNamed(mapping).find((name) => !names.includes(name));
  if (missing !== undefined) {
    const nearest = nearestName(missing, names);
    const hint = nearest === null ? "" : ` Is it ${nearest}?`;
    return refuse(
      "column_unknown",
      `The mapping names a column ${JSON.stringify(missing)}, which the file does not have.${hint}`,
    );
  }
  const uses: Use[] = [];
  for (const name of names) {
    const use = useOf(name, mapping);
    if (use === null) return unknownColumn(name, names);
    uses.push(use);
  }
  const twice = saidTwice({ names, uses, mapping }, set.size);
  if (twice !== null) return refuse("column_twice", twice);
  return ok({ read: (cells) => readRow({ names, uses, mapping }, [...set.values(), ...cells]) });
}

/** What is wrong with a header of which two columns say one thing; the first `setCount` columns are not of the header. */
function saidTwice({ names, uses, mapping }: Table, setCount: number): string | null {
  const byMeaning = new Map<string, string>();
  for (const [at, use] of uses.entries()) {
    const name = names[at] ?? "";
    const isRead = use.kind !== "none" || isPriceColumn(name, mapping);
    if (at < setCount || !isRead) continue;
    const meaning =
      use.kind === "member" ? use.name : use.kind === "none" ? `"${name}"` : `${use.kind} ${use.country}`;
    const other = byMeaning.get(meaning);
    byMeaning.set(meaning, name);
    if (other === name)
      return `The header names ${JSON.stringify(name)} twice. Take one out of the file: nobody can tell which is meant.`;
    if (other !== undefined)
      return `The columns ${JSON.stringify(other)} and ${JSON.stringify(name)} both say ${meaning}. --map ${name}= leaves one out.`;
  }
  return null;
}

/** Columns on which the mapping depends: a typing error there must not go unnoticed. */
function columnsNamed({ columns = {}, prices = [] }: FeedMapping): readonly string[] {
  const used = Object.entries(columns).flatMap(([name, to]) => (to === null ? [] : [name]));
  const priced = prices.flatMap(({ amount, currency }) =>
    typeof currency === "string" ? [amount] : [amount, currency.column],
  );
  return [...used, ...priced];
}

function useOf(name: string, mapping: FeedMapping): Use | null {
  const { columns = {} } = mapping;
  const to = Object.hasOwn(columns, name) ? columns[name] : undefined;
  if (to === null) return { kind: "none" };
  if (typeof to === "object") return { kind: "member", name: to.to, rule: to };
  if (to === undefined && isPriceColumn(name, mapping)) return { kind: "none" };
  const meant = to ?? name;
  if (meant === "") return { kind: "none" };
  if (meant === "schema" || mappedMembers.includes(meant)) return { kind: "member", name: meant, rule: null };
  const price = priceColumn.exec(meant)?.[1];
  if (price !== undefined) return { kind: "price", country: price };
  const currency = currencyColumn.exec(meant)?.[1];
  return currency === undefined ? null : { kind: "currency", country: currency };
}

/** True if a rule of `prices` reads the column. */
function isPriceColumn(name: string, { prices = [] }: FeedMapping): boolean {
  return prices.some(
    ({ amount, currency }) => amount === name || (typeof currency === "object" && currency.column === name),
  );
}

function unknownColumn(name: string, names: readonly string[]): Result<never, "column_unknown"> {
  const nearest = nearestName(name, columnNames);
  const hint = nearest === null ? `Columns are ${columnNames.join(", ")}.` : `Is it ${nearest}?`;
  const remedy = isMerchantHeader(names)
    ? "The header is that of a merchant feed: --format merchant-tsv reads it as one."
    : `--map ${name}= leaves it out, --map ${name}=MEMBER renames it.`;
  return refuse("column_unknown", `A product has no column ${JSON.stringify(name)}. ${hint} ${remedy}`);
}

interface Table {
  readonly names: readonly string[];
  readonly uses: readonly Use[];
  readonly mapping: FeedMapping;
}

type Price = { readonly country: string; readonly currency: string; readonly amount: string };

function readRow({ names, uses, mapping }: Table, cells: readonly string[]): RowRecord {
  const row = new RowReader(mapping);
  for (const [at, use] of uses.entries()) row.take(names[at] ?? "", use, (cells[at] ?? "").trim());
  Object.assign(row.record, membersOf(mapping.constants));
  row.addColumnPrices();
  // Of a column that is set and in the file as well, the file's cell counts.
  const cellOf = (name: string): string =>
    names.reduce((found, each, at) => (each === name && cells[at]?.trim()) || found, "");
  row.addRuledPrices(mapping.prices ?? [], cellOf);
  return row.finished();
}

/** One row while it is read. What a cell says but cannot be used is a note, and is never replaced by a default. */
class RowReader {
  readonly record: Record<string, JsonValue>;
  readonly #notes: FeedNote[] = [];
  readonly #mapping: FeedMapping;
  readonly #amounts = new Map<string, { readonly column: string; readonly cell: string }>();
  readonly #currencies = new Map<string, string>();
  readonly #prices = new Map<string, Price>();
  #id: string | null = null;

  constructor(mapping: FeedMapping) {
    this.#mapping = mapping;
    this.record = { schema: productSchema, ...membersOf(mapping.defaults) };
  }

  take(column: string, use: Use, written: string): void {
    if (written === "" || use.kind === "none") return;
    if (use.kind === "price") this.#amounts.set(use.country, { column, cell: written });
    else if (use.kind === "currency") this.#currencies.set(use.country, written);
    else this.#member(column, use, written);
  }

  #member(column: string, { name, rule }: MemberUse, written: string): void {
    const field = products.members[name];
    if (field === undefined) return;
    const isNumber = name === "business_product_id";
    const cell = name === "gtin" ? written : this.#read(column, written, readCell(written, { isNumber }));
    if (cell === null) return;
    if (name === "business_product_id") this.#id = cell;
    const mapped =
      rule?.values !== undefined && Object.hasOwn(rule.values, cell) ? rule.values[cell] : undefined;
    const value = this.#value(column, { name, field, rule }, mapped ?? cell);
    if (value === null) delete this.record[name];
    else this.record[name] = value;
  }

  /** Null where a note says why there is none. */
  #value(
    column: string,
    { name, field, rule }: MemberUse & { readonly field: Field },
    text: string,
  ): JsonValue | null {
    if (field.kind === "form") return this.#form(column, { name, field }, text);
    if (name === "business_product_id") {
      const fault = leftOver(text);
      return fault === null ? text : this.#unusable(column, text, fault);
    }
    if (field.kind === "text") {
      const read = this.#text(column, text, field.multiline);
      return read !== null && shortTexts.includes(name) ? this.#shortened(column, read, field.max) : read;
    }
    const separator = rule?.separator ?? this.#mapping.separator;
    const value = textValue(text, field, {
      ...(separator === undefined ? {} : { separator }),
      ...(this.#mapping.booleans === undefined ? {} : { booleans: this.#mapping.booleans }),
    });
    if (value === null) return this.#unusable(column, text, "Use true or false.");
    if (name !== "tags" || !Array.isArray(value)) return value;
    const tags = (value as readonly string[]).map((tag) => this.#text(column, tag, false));
    return tags.includes(null) ? null : (tags as readonly string[]);
  }

  #shortened(column: string, text: string, max: number): string {
    const short = shortened(text, max);
    const detail = `Shortened to at most ${max} characters.`;
    if (short !== text)
      this.#notes.push(note("value_changed", "value_shortened", { attribute: column, value: text, detail }));
    return short;
  }

  /** What is optional and cannot be used is left out. */
  #form(
    column: string,
    { name, field }: { readonly name: string; readonly field: Field & { readonly kind: "form" } },
    text: string,
  ): string | null {
    const read = name === "gtin" ? readGtin(text) : field.form === httpsUrlForm ? readLink(text) : null;
    if (read !== null) return this.#read(column, text, read, field.optional);
    const { accepts, meaning } = field.form;
    return accepts(text) ? text : this.#unusable(column, text, `Must be ${meaning}.`, field.optional);
  }

  #text(column: string, written: string, isMultiline: boolean): string | null {
    const read = readText(written, { isMultiline });
    if (read.fault !== null) return this.#unusable(column, written, read.fault);
    if (read.hadMarkup) this.#notes.push(markupRemoved(column, written));
    return read.text === "" ? this.#unusable(column, written, "There is no text in it.") : read.text;
  }

  #read(column: string, written: string, read: ReadValue, isOptional = false): string | null {
    if (read.fault !== null) return this.#unusable(column, written, read.fault, isOptional);
    if (read.change !== null)
      this.#notes.push(
        note("value_changed", "value_rewritten", { attribute: column, value: written, detail: read.change }),
      );
    return read.value;
  }

  #unusable(column: string, written: string, detail: string, isOptional = false): null {
    const effect = isOptional ? "attribute_left_out" : "item_left_out";
    this.#notes.push(note(effect, "value_invalid", { attribute: column, value: written, detail }));
    return null;
  }

  addColumnPrices(): void {
    for (const [country, { column, cell }] of this.#amounts) {
      const currency = this.#currencies.get(country);
      if (currency === undefined)
        this.#unusable(column, cell, `There is no price_currency_${country} beside it.`);
      else this.#price(column, cell, { currency, wanted: [country], isForOthers: false });
    }
  }

  /** Adds the prices of the mapping's rules, those for named countries first. */
  addRuledPrices(rules: readonly PriceRule[], cellOf: (column: string) => string): void {
    const inOrder = [...rules].sort(
      (a, b) => Number(a.countries === undefined) - Number(b.countries === undefined),
    );
    const all = Array.isArray(this.record["countries"])
      ? (this.record["countries"] as readonly string[])
      : [];
    for (const {
      amount: column,
      currency: from,
      countries,
      decimal_comma: decimalComma = false,
    } of inOrder) {
      const cell = cellOf(column);
      if (cell === "") continue;
      const currency = typeof from === "string" ? from : cellOf(from.column);
      const isForOthers = countries === undefined;
      const wanted = countries ?? all;
      if (currency === "") this.#unusable(column, cell, "The row names no currency for it.");
      else if (wanted.length === 0)
        this.#unusable(column, cell, "Neither the row nor the mapping names a country for it.");
      else this.#price(column, cell, { currency, wanted, isForOthers, decimalComma });
    }
  }

  /** `isForOthers`: it is the price of the countries that have none by a column or rule of their own. */
  #price(
    column: string,
    written: string,
    about: {
      readonly currency: string;
      readonly wanted: readonly string[];
      readonly isForOthers: boolean;
      readonly decimalComma?: boolean;
    },
  ): void {
    const { currency, wanted, isForOthers, decimalComma = false } = about;
    const cell = this.#read(column, written, readCell(written, { isNumber: true }));
    const amount =
      cell === null ? null : this.#read(column, written, readAmount(cell, { decimalComma, currency }));
    if (amount === null) return;
    if (/^0+(?:\.0+)?$/.test(amount)) this.#notes.push(forNothing(column, written));
    for (const country of wanted) {
      const known = this.#prices.get(country);
      if (known === undefined) this.#prices.set(country, { country, currency, amount });
      else if (!isForOthers && (known.currency !== currency || known.amount !== amount))
        this.#unusable(
          column,
          written,
          `The row has another price for ${country}: ${known.amount} ${known.currency}.`,
        );
    }
  }

  finished(): RowRecord {
    const [id, notes] = [this.#id, this.#notes];
    if (notes.some(({ effect }) => effect === "item_left_out")) return { id, record: null, notes };
    this.record["prices"] = [...this.#prices.values()].sort((a, b) => (a.country < b.country ? -1 : 1));
    this.record["countries"] ??= [...this.#prices.keys()].sort();
    this.record["tags"] ??= [];
    return { id, record: this.record, notes };
  }
}

/** The constants or defaults of a mapping; a text stands for a list as `a|b`, and for a boolean as `yes` or `no`. */
export function membersOf(values: FeedMapping["constants"]): Record<string, JsonValue> {
  const entries = Object.entries(values ?? {});
  return Object.fromEntries(
    entries.flatMap(([name, value]) => {
      const field = products.members[name];
      const meant = field === undefined || typeof value !== "string" ? value : textValue(value, field, {});
      return [[name, meant ?? value]];
    }),
  );
}

/** The value of a member from its text; null for a boolean that is neither. */
function textValue(
  text: string,
  field: Field,
  {
    separator = defaultSeparator,
    booleans: words = defaultBooleans,
  }: Pick<FeedMapping, "separator" | "booleans">,
): JsonValue | null {
  if (field.kind === "array") return itemsOf(text, separator);
  if (field.kind !== "boolean") return text;
  const has = (list: readonly string[]): boolean =>
    list.some((word) => word.toLowerCase() === text.toLowerCase());
  if (has(words.true) || text === "true") return true;
  return has(words.false) || text === "false" ? false : null;
}

function itemsOf(text: string, separator: string): readonly string[] {
  return text
    .split(separator)
    .map((item) => item.trim())
    .filter((item) => item !== "");
}
