// A product as a row of named text columns, the form in which most systems export their catalogue. Each column is a member
// of the product record under its own name; list items are separated by `|`; a price is the pair of columns `price_<CC>` and
// `price_currency_<CC>`, named as in search rows. An empty cell means the member is absent.

import type { JsonValue } from "../protocol/canonical-json.ts";
import { nearestName } from "../protocol/nearest.ts";
import type { Field } from "../protocol/records/fields.ts";
import { products } from "../protocol/records/products.ts";
import { ok, type Result, refuse } from "../protocol/result.ts";

export const productSchema = `svc/products/${products.version}`;

const listSeparator = "|";
const priceColumn = /^price_([A-Z]{2})$/;
const currencyColumn = /^price_currency_([A-Z]{2})$/;
const members = Object.entries(products.members).filter(([name]) => name !== "prices");
const columnNames = [...members.map(([name]) => name), "price_US", "price_currency_US"];

/** Refuses a column that products do not have, and suggests the nearest one that they do. */
export function checkProductColumn(name: string): Result<null, "column_unknown"> {
  const isKnown =
    members.some(([known]) => known === name) || priceColumn.test(name) || currencyColumn.test(name);
  if (isKnown) return ok(null);
  const nearest = nearestName(name, columnNames);
  const hint = nearest === null ? `Columns are ${columnNames.join(", ")}.` : `Is it ${nearest}?`;
  return refuse("column_unknown", `A product has no column ${JSON.stringify(name)}. ${hint}`);
}

/**
 * Builds the record of one row. `schema` and `countries` may be left out; they default to the current version and to the
 * countries that have a price. Refuses a cell that cannot be converted to its member's type; whether the record is valid is
 * judged later.
 */
export function productOfColumns(columns: ReadonlyMap<string, string>): Result<JsonValue, "cell_invalid"> {
  const record: Record<string, JsonValue> = { schema: productSchema };
  for (const [name, field] of members) {
    const cell = columns.get(name)?.trim() ?? "";
    if (cell === "") continue;
    const value = cellValue(cell, field);
    if (value === null)
      return refuse("cell_invalid", `${name} is ${JSON.stringify(cell)}; use ${meaningOf(field)}.`);
    record[name] = value;
  }
  const prices = pricesOf(columns);
  if (!prices.ok) return prices;
  record["prices"] = prices.value;
  if (record["countries"] === undefined) record["countries"] = prices.value.map(({ country }) => country);
  record["tags"] ??= [];
  return ok(record);
}

function cellValue(cell: string, field: Field): JsonValue | null {
  if (field.kind === "array")
    return cell
      .split(listSeparator)
      .map((item) => item.trim())
      .filter((item) => item !== "");
  if (field.kind !== "boolean") return cell;
  const lower = cell.toLowerCase();
  if (["true", "yes", "1"].includes(lower)) return true;
  return ["false", "no", "0"].includes(lower) ? false : null;
}

function meaningOf(field: Field): string {
  return field.kind === "boolean" ? "true or false" : "a text";
}

type Price = { readonly country: string; readonly currency: string; readonly amount: string };

function pricesOf(columns: ReadonlyMap<string, string>): Result<readonly Price[], "cell_invalid"> {
  const prices: Price[] = [];
  for (const [name, cell] of columns) {
    const country = priceColumn.exec(name)?.[1];
    const amount = cell.trim();
    if (country === undefined || amount === "") continue;
    const currency = columns.get(`price_currency_${country}`)?.trim() ?? "";
    if (currency === "") return refuse("cell_invalid", `${name} has no price_currency_${country} beside it.`);
    prices.push({ country, currency, amount });
  }
  return ok(prices.sort((a, b) => (a.country < b.country ? -1 : 1)));
}
