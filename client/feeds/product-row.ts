// One row of a table of products while it is read. What a cell says but cannot be used is a note, and is never replaced by a
// default.

import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import { millionthsOf } from "../../protocol/price-list.ts";
import { type Field, httpsUrlForm } from "../../protocol/records/fields.ts";
import { recordTypes } from "../../protocol/records/parse-record.ts";
import { taxonomyList } from "../../protocol/records/vocabularies/taxonomy.ts";
import {
  type FeedNote,
  forNothing,
  markupRemoved,
  note,
  valueRewritten,
  valueShortened,
} from "./feed-item.ts";
import type { FeedMapping } from "./feed-mapping.ts";
import { type ReadValue, readAmount, readCell, readGtin, readLink } from "./feed-values.ts";
import { leftOver, readText } from "./published-text.ts";
import { shortened } from "./shorten.ts";

const availabilities = taxonomyList("availability");

export const availabilityForm = `Must be one of ${[...availabilities.codes].join(", ")}; the mapping's columns translate other words.`;

const { version, members } = recordTypes.products;
export const productSchema = `svc/products/${version}`;

/** Texts of which a part says less, but nothing else. */
const shortTexts = ["product_name", "short_description"];
const defaultSeparator = "|";
const defaultBooleans = { true: ["true", "yes", "1"], false: ["false", "no", "0"] };
/** What one column is for. */
export type Use =
  | { readonly kind: "member"; readonly name: string; readonly rule: ColumnRule | null }
  | { readonly kind: "price"; readonly country: string }
  | { readonly kind: "currency"; readonly country: string }
  /** It is left out, or a rule of `prices` reads it. */
  | { readonly kind: "none" };

type MemberUse = Pick<Extract<Use, { kind: "member" }>, "name" | "rule">;
type ColumnRule = Exclude<NonNullable<FeedMapping["columns"]>[string], string | null>;
type PriceRule = NonNullable<FeedMapping["prices"]>[number];

/** The columns in a template. */
export const inBraces = /\{([^{}]*)\}/g;

export interface RowRecord {
  readonly id: string | null;
  readonly record: Record<string, JsonValue> | null;
  readonly notes: readonly FeedNote[];
}

type AmountForm = Parameters<typeof readAmount>[1];
type ColumnCell = readonly [column: string, cell: string];
type Price = { readonly country: string; readonly currency: string; readonly amount: string };

export class RowReader {
  readonly record: Record<string, JsonValue>;
  readonly #notes: FeedNote[] = [];
  readonly #mapping: FeedMapping;
  readonly #amounts = new Map<string, { readonly column: string; readonly cell: string }>();
  readonly #currencies = new Map<string, string>();
  readonly #prices = new Map<string, Price>();
  #id: string | null = null;
  /** Whether every price of the rules that tell it is a lower one. */
  #onSale: boolean | null = null;

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
    const field = members[name];
    if (field === undefined) return;
    const isNumber = name === "business_product_id";
    const cell = name === "gtin" ? written : this.#read(column, written, readCell(written, { isNumber }));
    if (cell === null) return;
    if (name === "business_product_id") this.#id = cell;
    const mapped =
      rule?.values !== undefined && Object.hasOwn(rule.values, cell) ? rule.values[cell] : undefined;
    this.#put(name, this.#value(column, { name, field, rule }, mapped ?? cell));
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
    if (name === "availability" && !availabilities.codes.has(text))
      return this.#unusable(column, text, availabilityForm);
    const separator = rule?.separator ?? this.#mapping.separator;
    const value = textValue(text, field, {
      ...(separator === undefined ? {} : { separator }),
      ...(this.#mapping.booleans === undefined ? {} : { booleans: this.#mapping.booleans }),
    });
    if (value === null)
      return this.#unusable(column, text, "Use true or false; booleans in the mapping name other words.");
    if (name !== "tags" || !Array.isArray(value)) return value;
    const tags = (value as readonly string[]).map((tag) => this.#text(column, tag, false));
    return tags.includes(null) ? null : (tags as readonly string[]);
  }

  #shortened(column: string, text: string, max: number): string {
    const short = shortened(text, max);
    if (short !== text) this.#notes.push(valueShortened(column, text, max));
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
    if (!isMultiline && /[\r\n]/.test(written.trim()))
      return this.#unusable(
        column,
        written,
        "Has several lines: write it in one, if no quote before it is open.",
      );
    const read = readText(written, { isMultiline });
    if (read.fault !== null) return this.#unusable(column, written, read.fault);
    if (read.hadMarkup) this.#notes.push(markupRemoved(column, written));
    return read.text === "" ? this.#unusable(column, written, "There is no text in it.") : read.text;
  }

  #read(column: string, written: string, read: ReadValue, isOptional = false): string | null {
    if (read.fault !== null) return this.#unusable(column, written, read.fault, isOptional);
    if (read.change !== null) this.#notes.push(valueRewritten(column, written, read.change));
    return read.value;
  }

  #unusable(column: string, written: string, detail: string, isOptional = false): null {
    // Of several lines, it may have the rest of another row in it.
    const effect = isOptional && !/[\r\n]/.test(written) ? "attribute_left_out" : "item_left_out";
    this.#notes.push(note(effect, "value_invalid", { attribute: column, value: written, detail }));
    return null;
  }

  /** A member that is made of columns; what one of them says but cannot be used is not replaced by a default. */
  fill(name: string, template: string, cellOf: (column: string) => string): void {
    const field = members[name];
    if (field === undefined) return;
    const isAddress = field.kind === "form" && field.form === httpsUrlForm;
    let value: string | null = template;
    for (const [braced, column = ""] of template.matchAll(inBraces)) {
      const cell = cellOf(column);
      if (cell === "") return;
      const read = this.#read(column, cell, readCell(cell, { isNumber: isAddress }));
      const fault = read === null ? null : leftOver(read);
      if (fault !== null) this.#unusable(column, cell, fault);
      const part = read === null || fault !== null ? null : isAddress ? encodeURIComponent(read) : read;
      value = part === null ? null : (value?.replace(braced, () => part) ?? null);
    }
    const made = value === null ? null : this.#value(name, { name, field, rule: null }, value);
    if (name === "business_product_id") this.#id = made === null ? null : String(made);
    this.#put(name, made);
  }

  /** Null for a member whose cell cannot be used: no default replaces it. */
  #put(name: string, value: JsonValue | null): void {
    if (value === null) delete this.record[name];
    else this.record[name] = value;
  }

  lacksFirst(column: string, cell: string): void {
    this.#unusable(column, cell, "No row before this one says what it leaves empty (fill_down).");
  }

  addColumnPrices(): void {
    for (const [country, { column, cell }] of this.#amounts) {
      const currency = this.#currencies.get(country);
      if (currency === undefined)
        this.#unusable(column, cell, `There is no price_currency_${country} beside it.`);
      else {
        const amount = this.#amount(column, cell, { currency });
        this.#price(column, cell, { currency, amount, wanted: [country], isForOthers: false });
      }
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
      sale = "",
      before = "",
    } of inOrder) {
      const cell = cellOf(column);
      const [lower, higher] = [cellOf(sale), cellOf(before)];
      if (cell === "" && lower + higher !== "")
        this.#unusable(lower === "" ? before : sale, lower || higher, `There is no ${column} beside it.`);
      if (cell === "") continue;
      const currency = typeof from === "string" ? from : cellOf(from.column);
      const isForOthers = countries === undefined;
      const wanted = countries ?? all;
      if (currency === "") this.#unusable(column, cell, "The row names no currency for it.");
      else if (wanted.length === 0)
        this.#unusable(column, cell, "Neither the row nor the mapping names a country for it.");
      else {
        const amount = this.#amount(column, cell, { currency, decimalComma });
        const reduced = this.#reduced(amount, {
          currency,
          decimalComma,
          sale: [sale, lower],
          before: [before, higher],
        });
        if (sale + before !== "") this.#onSale = (this.#onSale ?? true) && reduced.isOnSale;
        this.#price(column, cell, { currency, amount: reduced.amount, wanted, isForOthers });
      }
    }
  }

  /** The price that holds, and whether it is lower than another one. */
  #reduced(
    amount: string | null,
    { sale, before, ...how }: AmountForm & { readonly sale: ColumnCell; readonly before: ColumnCell },
  ): { readonly amount: string | null; readonly isOnSale: boolean } {
    const read = ([column, cell]: ColumnCell): string | null =>
      cell === "" ? null : this.#amount(column, cell, how);
    const [lower, higher] = [read(sale), read(before)];
    if (amount === null) return { amount, isOnSale: false };
    const isLower = (one: string, two: string): boolean => millionthsOf(one) < millionthsOf(two);
    const isSale = lower !== null && Number(lower) > 0 && isLower(lower, amount);
    if (lower !== null && !isSale) {
      const detail = "Must be above 0 and lower than the price beside it.";
      const [attribute, value] = sale;
      this.#notes.push(note("attribute_left_out", "value_invalid", { attribute, value, detail }));
    }
    const isOnSale = isSale || (higher !== null && isLower(amount, higher));
    return { amount: isSale ? lower : amount, isOnSale };
  }

  /** An amount as a decimal string; null where a note says why there is none. */
  #amount(column: string, written: string, how: AmountForm): string | null {
    const cell = this.#read(column, written, readCell(written, { isNumber: true }));
    const amount = cell === null ? null : this.#read(column, written, readAmount(cell, how));
    return amount?.startsWith("-") ? this.#unusable(column, written, "Must not be below 0.") : amount;
  }

  /** `isForOthers`: it is the price of the countries that have none by a column or rule of their own. */
  #price(
    column: string,
    written: string,
    about: {
      readonly currency: string;
      readonly amount: string | null;
      readonly wanted: readonly string[];
      readonly isForOthers: boolean;
    },
  ): void {
    const { currency, amount, wanted, isForOthers } = about;
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
    if (this.#onSale !== null && this.#mapping.constants?.["on_sale"] === undefined)
      this.record["on_sale"] = this.#onSale;
    return { id, record: this.record, notes };
  }
}

/** The constants or defaults of a mapping; a text stands for a list as `a|b`, and for a boolean as `yes` or `no`. */
export function membersOf(values: FeedMapping["constants"]): Record<string, JsonValue> {
  const entries = Object.entries(values ?? {});
  return Object.fromEntries(
    entries.flatMap(([name, value]) => {
      const field = members[name];
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
