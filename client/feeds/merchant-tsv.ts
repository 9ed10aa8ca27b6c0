// A Google Merchant feed as tab-separated text: a header of attribute names, and one item on each line. An attribute with
// parts has its form in the header, `shipping(country:price)`, or the default form `country:region:service:price`; several
// values are separated by commas.

import { type CsvRow, csvRows } from "./csv.ts";
import type { FeedNote } from "./feed-item.ts";
import { FeedError, note } from "./feed-item.ts";
import { attributeName, type MerchantItem, MerchantItemBuilder } from "./merchant-item.ts";

/** The attributes with parts that matter here, with the default order of their parts. */
const defaultParts: Readonly<Record<string, readonly string[]>> = {
  shipping: ["country", "region", "service", "price"],
};

interface Column {
  readonly name: string;
  readonly parts: readonly string[] | null;
}

/** A header is one of a merchant feed when it names the item, and one more attribute that every item must have. */
export function isMerchantHeader(names: readonly string[]): boolean {
  const found = new Set(names.map(attributeName));
  return found.has("id") && found.has("title") && (found.has("link") || found.has("price"));
}

/** The items, or a note for a line that is not one. Rejects with {@link FeedError}. */
export async function* merchantRows(
  text: AsyncIterable<string>,
  rowLengthMax: number,
): AsyncGenerator<MerchantItem | { readonly place: number; readonly fault: FeedNote }> {
  let columns: readonly Column[] | null = null;
  for await (const row of csvRows(text, "\t", rowLengthMax)) {
    if (columns === null) columns = columnsOf(row);
    else if (row.fields.length > columns.length) {
      const detail = `${row.fields.length} fields, the header has ${columns.length}.`;
      yield { place: row.line, fault: note("item_left_out", "syntax_invalid", { attribute: "", detail }) };
    } else yield itemOf(row, columns);
  }
  if (columns === null) throw new FeedError(0, "The file has no header.");
}

function columnsOf({ line, fields }: CsvRow): readonly Column[] {
  const columns = fields.map((field) => {
    const form = /^([^()]+)\(([^()]*)\)$/.exec(field.trim());
    const name = attributeName(form?.[1] ?? field);
    const parts = form?.[2]?.split(":").map(attributeName) ?? defaultParts[name] ?? null;
    return { name, parts };
  });
  const known = columns.map(({ name }) => name).filter((name) => name !== "");
  const twice = known.find((name, at) => known.indexOf(name) !== at && name !== "shipping");
  if (twice !== undefined) throw new FeedError(line, `The header names ${JSON.stringify(twice)} twice.`);
  return columns;
}

/** Attributes at the end of a line may be missing: exports leave out what is empty there. */
function itemOf({ line, fields }: CsvRow, columns: readonly Column[]): MerchantItem {
  const builder = new MerchantItemBuilder(line);
  for (const [at, { name, parts }] of columns.entries()) {
    const cell = fields[at]?.trim() ?? "";
    if (name === "" || cell === "") continue;
    if (parts === null) builder.attribute(name, cell);
    else for (const value of cell.split(",")) builder.group(name, partsOf(value, parts));
  }
  return builder.item();
}

function partsOf(value: string, names: readonly string[]): ReadonlyMap<string, string> {
  const cells = value.split(":").map((cell) => cell.trim());
  return new Map(
    names.flatMap((name, at) => {
      const cell = cells[at] ?? "";
      return cell === "" ? [] : [[name, cell] as const];
    }),
  );
}
