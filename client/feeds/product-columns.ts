// A product as a row of named text columns, the form in which most systems export their catalogue. Without a mapping file
// each column is a member of the product record under its own name; list items are separated by `|`; a price is the pair of
// columns `price_<CC>` and `price_currency_<CC>`, named as in search rows. An empty cell means the member is absent.

import type { JsonValue } from "../../protocol/canonical-json.ts";
import { nearestName } from "../../protocol/nearest.ts";
import type { Field } from "../../protocol/records/fields.ts";
import { products } from "../../protocol/records/products.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import { type FeedNote, note } from "./feed-item.ts";
import { type FeedMapping, mappedMembers } from "./feed-mapping.ts";

export const productSchema = `svc/products/${products.version}`;

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

type ColumnRule = Exclude<NonNullable<FeedMapping["columns"]>[string], string | null>;
type PriceRule = NonNullable<FeedMapping["prices"]>[number];

export interface ColumnReader {
  /** The record of one row; `record` is null when a note says why there is none. */
  read(cells: readonly string[]): {
    readonly record: Record<string, JsonValue> | null;
    readonly notes: readonly FeedNote[];
  };
}

/**
 * Refuses a header with a column that neither products nor the mapping have, and suggests the nearest that exists. `set` are
 * columns that the file does not have, and their cells; a cell of the file comes before them.
 */
export function createColumnReader(
  header: readonly string[],
  mapping: FeedMapping,
  set: ReadonlyMap<string, string> = new Map(),
): Result<ColumnReader, "column_unknown"> {
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
    if (use === null) return unknownColumn(name);
    uses.push(use);
  }
  return ok({
    read: (cells) =>
      cells.length === header.length
        ? readRow({ names, uses, mapping }, [...set.values(), ...cells])
        : { record: null, notes: [ragged(cells.length, header.length)] },
  });
}

function ragged(found: number, wanted: number): FeedNote {
  const detail = `${found} fields, the header has ${wanted}.`;
  return note("item_left_out", "syntax_invalid", { attribute: "", detail });
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
  const { columns = {}, prices = [] } = mapping;
  const to = Object.hasOwn(columns, name) ? columns[name] : undefined;
  if (to === null) return { kind: "none" };
  if (typeof to === "object") return { kind: "member", name: to.to, rule: to };
  const isPriced = prices.some(
    ({ amount, currency }) => amount === name || (typeof currency === "object" && currency.column === name),
  );
  if (to === undefined && isPriced) return { kind: "none" };
  const meant = to ?? name;
  if (meant === "") return { kind: "none" };
  if (meant === "schema" || mappedMembers.includes(meant)) return { kind: "member", name: meant, rule: null };
  const price = priceColumn.exec(meant)?.[1];
  if (price !== undefined) return { kind: "price", country: price };
  const currency = currencyColumn.exec(meant)?.[1];
  return currency === undefined ? null : { kind: "currency", country: currency };
}

function unknownColumn(name: string): Result<never, "column_unknown"> {
  const nearest = nearestName(name, columnNames);
  const hint = nearest === null ? `Columns are ${columnNames.join(", ")}.` : `Is it ${nearest}?`;
  const remedy = `--map ${name}= leaves it out, --map ${name}=MEMBER renames it.`;
  return refuse("column_unknown", `A product has no column ${JSON.stringify(name)}. ${hint} ${remedy}`);
}

interface Table {
  readonly names: readonly string[];
  readonly uses: readonly Use[];
  readonly mapping: FeedMapping;
}

type Price = { readonly country: string; readonly currency: string; readonly amount: string };

function readRow(
  { names, uses, mapping }: Table,
  cells: readonly string[],
): ReturnType<ColumnReader["read"]> {
  const notes: FeedNote[] = [];
  const record: Record<string, JsonValue> = { schema: productSchema, ...membersOf(mapping.defaults) };
  const amounts = new Map<string, string>();
  const currencies = new Map<string, string>();
  for (const [at, use] of uses.entries()) {
    const cell = (cells[at] ?? "").trim();
    if (cell === "" || use.kind === "none") continue;
    if (use.kind === "price") amounts.set(use.country, cell);
    else if (use.kind === "currency") currencies.set(use.country, cell);
    else {
      const field = products.members[use.name];
      const value = field === undefined ? null : cellValue(cell, field, { rule: use.rule, mapping });
      if (value !== null) record[use.name] = value;
      else notes.push(unusable(names[at] ?? "", cell, "Use true or false."));
    }
  }
  Object.assign(record, membersOf(mapping.constants));
  const prices = new Map<string, Price>();
  for (const [country, amount] of amounts) {
    const currency = currencies.get(country);
    if (currency !== undefined) prices.set(country, { country, currency, amount });
    else notes.push(unusable(`price_${country}`, amount, `There is no price_currency_${country} beside it.`));
  }
  const cellOf = (name: string): string => (cells[names.indexOf(name)] ?? "").trim();
  notes.push(...addRuledPrices(prices, record, { rules: mapping.prices ?? [], cellOf }));
  if (notes.length > 0) return { record: null, notes };
  record["prices"] = [...prices.values()].sort((a, b) => (a.country < b.country ? -1 : 1));
  record["countries"] ??= [...prices.keys()].sort();
  record["tags"] ??= [];
  return { record, notes };
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

function unusable(attribute: string, value: string, detail: string): FeedNote {
  return note("item_left_out", "value_invalid", { attribute, value, detail });
}

function cellValue(
  cell: string,
  field: Field,
  { rule, mapping }: { readonly rule: ColumnRule | null; readonly mapping: FeedMapping },
): JsonValue | null {
  const mapped =
    rule?.values !== undefined && Object.hasOwn(rule.values, cell) ? rule.values[cell] : undefined;
  const separator = rule?.separator ?? mapping.separator;
  return textValue(mapped ?? cell, field, {
    ...(separator === undefined ? {} : { separator }),
    ...(mapping.booleans === undefined ? {} : { booleans: mapping.booleans }),
  });
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

interface PriceCells {
  readonly rules: readonly PriceRule[];
  readonly cellOf: (column: string) => string;
}

/** Adds the prices of the mapping's rules, those for named countries first. */
function addRuledPrices(
  prices: Map<string, Price>,
  record: Readonly<Record<string, JsonValue>>,
  { rules, cellOf }: PriceCells,
): readonly FeedNote[] {
  const notes: FeedNote[] = [];
  const inOrder = [...rules].sort(
    (a, b) => Number(a.countries === undefined) - Number(b.countries === undefined),
  );
  for (const { amount: column, currency: from, countries, decimal_comma } of inOrder) {
    const cell = cellOf(column);
    if (cell === "") continue;
    const amount =
      decimal_comma === true && /^-?[0-9]+(,[0-9]+)?$/.test(cell) ? cell.replace(",", ".") : cell;
    const currency = typeof from === "string" ? from : cellOf(from.column);
    const wanted = countries ?? (Array.isArray(record["countries"]) ? (record["countries"] as string[]) : []);
    if (currency === "") notes.push(unusable(column, cell, "The row names no currency for it."));
    else if (wanted.length === 0)
      notes.push(unusable(column, cell, "Neither the row nor the mapping names a country for it."));
    for (const country of wanted) {
      if (!prices.has(country)) prices.set(country, { country, currency, amount });
    }
  }
  return notes;
}
