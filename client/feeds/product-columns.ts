// A product as a row of named text columns, the form in which most systems export their catalogue. Without a mapping file
// each column is a member of the product record under its own name; list items are separated by `|`; a price is the pair of
// columns `price_<CC>` and `price_currency_<CC>`, named as in search rows. An empty cell means the member is absent. What a cell
// says but cannot be used is a fault of its row: it never becomes a default, and nothing is silently taken in its place.

import { ok, type Result, refuse } from "../../protocol/result.ts";
import { nearestName } from "../../protocol/shape.ts";
import { type FeedMapping, mappedMembers } from "./feed-mapping.ts";
import { isMerchantHeader } from "./merchant-item.ts";
import { inBraces, membersOf, RowReader, type RowRecord, type Use } from "./product-row.ts";

const priceColumn = /^price_([A-Z]{2})$/;
const currencyColumn = /^price_currency_([A-Z]{2})$/;
const columnNames = [...mappedMembers, "price_US", "price_currency_US"];

export interface ColumnReader {
  /** The record of one row; `record` is null when a note says why there is none. `id` is what the row says of it. */
  read(cells: readonly string[]): RowRecord;
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
  const filled = fillDown(names, mapping);
  return ok({
    read: (cells) => {
      const trimmed = [...set.values(), ...cells].map((cell) => cell.trim());
      return readRow({ names, uses, mapping }, trimmed, filled(trimmed));
    },
  });
}

/** What a row leaves empty, as the first row of its product says it; null where the row needs one that is not there. */
function fillDown(
  names: readonly string[],
  { fill_down: rule }: FeedMapping,
): (cells: readonly string[]) => readonly string[] | null {
  if (rule === undefined) return (cells) => cells;
  const by = names.lastIndexOf(rule.by);
  const from = rule.columns.map((name) => names.lastIndexOf(name));
  const firsts = new Map<string, readonly string[]>();
  return (cells) => {
    const key = cells[by] ?? "";
    const first = firsts.get(key);
    if (first !== undefined) return cells.map((cell, at) => cell || (from.includes(at) && first[at]) || "");
    if (from.every((at) => (cells[at] ?? "") === "")) return null;
    if (key !== "") firsts.set(key, cells);
    return cells;
  };
}

/** What is wrong with a header of which two columns say one thing; the first `setCount` columns are not of the header. */
function saidTwice({ names, uses, mapping }: Table, setCount: number): string | null {
  const byMeaning = new Map<string, string>();
  const rules = Object.keys(mapping.templates ?? {}).map((name) => [name, "templates"] as const);
  const reductions = (mapping.prices ?? []).filter(
    (rule) => rule.sale !== undefined || rule.before !== undefined,
  );
  const byRule = new Map([...rules, ...reductions.map(() => ["on_sale", "prices"] as const)]);
  for (const [at, use] of uses.entries()) {
    const name = names[at] ?? "";
    const isRead = use.kind !== "none" || ruleColumns(mapping).includes(name);
    if (at < setCount || !isRead) continue;
    const meaning =
      use.kind === "member" ? use.name : use.kind === "none" ? `"${name}"` : `${use.kind} ${use.country}`;
    const other = byMeaning.get(meaning);
    byMeaning.set(meaning, name);
    if (other === name)
      return `The header names ${JSON.stringify(name)} twice. Take one out of the file: nobody can tell which is meant.`;
    const rule = byRule.get(meaning);
    if (rule !== undefined)
      return `The column ${JSON.stringify(name)} and the mapping's ${rule} both say ${meaning}. --map ${name}= leaves the column out.`;
    if (other !== undefined)
      return `The columns ${JSON.stringify(other)} and ${JSON.stringify(name)} both say ${meaning}. --map ${name}= leaves one out.`;
  }
  return null;
}

/** Columns on which the mapping depends: a typing error there must not go unnoticed. */
function columnsNamed(mapping: FeedMapping): readonly string[] {
  const used = Object.entries(mapping.columns ?? {}).flatMap(([name, to]) => (to === null ? [] : [name]));
  return [...used, ...ruleColumns(mapping)];
}

/** The columns that rules read, whatever else is said of them. */
function ruleColumns(mapping: FeedMapping): readonly string[] {
  const { templates = {}, fill_down: fill } = mapping;
  const within = Object.values(templates).flatMap((each) =>
    [...each.matchAll(inBraces)].map(([, name = ""]) => name),
  );
  return [...priceColumns(mapping), ...within, ...(fill === undefined ? [] : [fill.by, ...fill.columns])];
}

function priceColumns({ prices = [] }: FeedMapping): readonly string[] {
  return prices.flatMap(({ amount, currency, sale, before }) => {
    const from = typeof currency === "string" ? undefined : currency.column;
    return [amount, from, sale, before].filter((name) => name !== undefined);
  });
}

function useOf(name: string, mapping: FeedMapping): Use | null {
  const { columns = {} } = mapping;
  const to = Object.hasOwn(columns, name) ? columns[name] : undefined;
  if (to === null) return { kind: "none" };
  if (typeof to === "object") return { kind: "member", name: to.to, rule: to };
  if (to === undefined && priceColumns(mapping).includes(name)) return { kind: "none" };
  const meant = to ?? name;
  if (meant === "") return { kind: "none" };
  if (meant === "schema" || mappedMembers.includes(meant)) return { kind: "member", name: meant, rule: null };
  const price = priceColumn.exec(meant)?.[1];
  if (price !== undefined) return { kind: "price", country: price };
  const currency = currencyColumn.exec(meant)?.[1];
  if (currency !== undefined) return { kind: "currency", country: currency };
  return ruleColumns(mapping).includes(name) ? { kind: "none" } : null;
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

function readRow(
  { names, uses, mapping }: Table,
  written: readonly string[],
  filled: readonly string[] | null,
): RowRecord {
  const row = new RowReader(mapping);
  const cells = filled ?? written;
  for (const [at, use] of uses.entries()) row.take(names[at] ?? "", use, cells[at] ?? "");
  // Of a column that is set and in the file as well, the file's cell counts.
  const cellOf = (name: string): string =>
    names.reduce((found, each, at) => (each === name && cells[at]) || found, "");
  for (const [name, template] of Object.entries(mapping.templates ?? {})) row.fill(name, template, cellOf);
  if (filled === null) row.lacksFirst(mapping.fill_down?.by ?? "", cellOf(mapping.fill_down?.by ?? ""));
  Object.assign(row.record, membersOf(mapping.constants));
  row.addColumnPrices();
  row.addRuledPrices(mapping.prices ?? [], cellOf);
  return row.finished();
}
