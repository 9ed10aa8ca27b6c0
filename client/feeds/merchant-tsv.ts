// A Google Merchant feed as tab-separated text: a header of attribute names, and one item on each line. An attribute with
// parts has its form in the header, `shipping(country:price)`, or the default form `country:region:service:price`; several
// values are separated by commas.

import type { CsvRow, Separator } from "./csv.ts";
import { FeedError, type FeedNote } from "./feed-item.ts";
import { attributeName, type MerchantItem, MerchantItemBuilder } from "./merchant-item.ts";
import { tableRows } from "./table-rows.ts";

interface Column {
  readonly name: string;
  /** What its values consist of, if the header says so. */
  readonly parts: readonly string[] | undefined;
}

/** The items, or a note for a line that is not one. Rejects with {@link FeedError}. */
export async function* merchantRows(
  text: AsyncIterable<string>,
  separator: Separator,
  rowLengthMax: number,
): AsyncGenerator<MerchantItem | { readonly place: number; readonly fault: FeedNote }> {
  let columns: readonly Column[] | null = null;
  for await (const row of tableRows(text, separator, rowLengthMax)) {
    if ("fault" in row) yield { place: row.line, fault: row.fault };
    else if (columns === null) columns = columnsOf(row);
    else yield itemOf(row, columns);
  }
}

function columnsOf({ line, fields }: CsvRow): readonly Column[] {
  const columns = fields.map((field) => {
    const form = /^([^()]+)\(([^()]*)\)$/.exec(field.trim());
    const name = attributeName(form?.[1] ?? field);
    return { name, parts: form?.[2]?.split(":").map(attributeName) };
  });
  const known = columns.map(({ name }) => name).filter((name) => name !== "");
  const twice = known.find((name, at) => known.indexOf(name) !== at && name !== "shipping");
  if (twice !== undefined) throw new FeedError(line, `The header names ${JSON.stringify(twice)} twice.`);
  return columns;
}

function itemOf({ line, fields }: CsvRow, columns: readonly Column[]): MerchantItem {
  const builder = new MerchantItemBuilder(line);
  for (const [at, { name, parts }] of columns.entries())
    if (name !== "") builder.attribute(name, fields[at] ?? "", parts);
  return builder.item();
}
