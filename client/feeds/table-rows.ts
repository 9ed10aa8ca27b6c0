// The rows of a table below its header, as spreadsheets and shops write them.
//   T1. A row is never made of two: a quoted field that holds what looks like the ends and beginnings of other rows is a quote
//       that was never closed, and the file is refused, since nobody can tell what belongs to which product.
//   T2. Empty fields that are missing at the end of a row, or that follow the last column, mean nothing.

import { type CsvRow, csvRows, parseCsv, type Separator } from "./csv.ts";
import { FeedError, type FeedNote, note } from "./feed-item.ts";

export type TableRow = CsvRow | { readonly line: number; readonly fault: FeedNote };

const separators = [",", ";", "\t", "|"] as const;
const declaration = /^sep=(.)$/;

/** The first line of a table: without the declaration `sep=;` that spreadsheets write before the header. */
export function headerLine(text: string): string {
  const [first = "", second = ""] = text.trimStart().split(/\r\n?|\n/, 2);
  return declaration.test(first) ? second : first;
}

/** The separator that a file declares, or else that stands most often in its header outside of quotes. */
export function separatorOf(text: string): Separator {
  const [first = ""] = text.trimStart().split(/\r\n?|\n/, 1);
  const declared = separators.find((each) => each === declaration.exec(first)?.[1]);
  if (declared !== undefined) return declared;
  const bare = headerLine(text).replaceAll(/"(?:[^"]|"")*"/g, "");
  const counts = separators.map((each) => bare.split(each).length);
  return separators[counts.indexOf(Math.max(...counts))] ?? ",";
}

/** The fields of the header, for those who have to recognise a file by them. */
export function headerFields(text: string): readonly string[] {
  const header = parseCsv(headerLine(text), separatorOf(text));
  return header.ok ? (header.rows[0]?.fields ?? []) : [];
}

/** The header first, then each row with as many fields as that has. Rejects with {@link FeedError}. */
export async function* tableRows(
  text: AsyncIterable<string>,
  separator: Separator,
  rowLengthMax: number,
): AsyncGenerator<TableRow> {
  let columns: number | null = null;
  for await (const { line, fields } of csvRows(text, separator, rowLengthMax)) {
    const isDeclaration = line === 1 && declaration.test(fields.join(separator));
    if (isDeclaration) continue;
    const joined = joinedField(fields, columns ?? fields.length, separator);
    if (joined !== null) throw new FeedError(line, unclosed(joined));
    if (columns === null) {
      columns = fields.length;
      yield { line, fields };
    } else yield sizedRow({ line, fields }, columns);
  }
  if (columns === null) throw new FeedError(0, "The file has no header.");
}

function unclosed(field: string): string {
  const start = JSON.stringify(field.split(/[\r\n]/, 1)[0]?.slice(0, 60) ?? "");
  return `A quote is not closed: the field that begins with ${start} would swallow the rows below it. Double a quote that is part of the text (""), in a field that is quoted as a whole.`;
}

/**
 * A field over several lines that cannot be one field: the line on which it begins has the rest of a row's separators and the
 * line on which it ends those of a row's beginning, or a line between them is a row by itself.
 */
function joinedField(fields: readonly string[], columns: number, separator: Separator): string | null {
  // The commas of a text have spaces after them; those of a table only where its other fields have them too.
  const isSpaced = fields.some((field, at) => at > 0 && /^ /.test(field));
  const count = (line: string): number =>
    line.split(separator).filter((rest, at) => at > 0 && (isSpaced || !/^(?:\s|$)/.test(rest))).length;
  for (const [before, field] of fields.entries()) {
    const lines = field.split(/\r\n?|\n/);
    const [first = "", last = ""] = [lines[0], lines.at(-1)];
    if (lines.length === 1) continue;
    if (separator === "\t" && field.includes("\t")) return field;
    const rest = columns - before - 1;
    const missing = columns - (fields.length - before);
    // The last fields of a row are often empty.
    const beginsRow = count(first) > 0 && count(first) + separatorsAtEnd(first, separator) >= rest;
    const endsRow = count(last) >= missing;
    const completes = endsRow && (rest === 0 ? missing > 0 : beginsRow);
    const isRowsEnd = endsRow && missing >= 3;
    const rowWithin = lines.slice(1, -1).some((line) => count(line) >= Math.max(2, columns - 1));
    if (completes || isRowsEnd || rowWithin) return field;
  }
  return null;
}

function separatorsAtEnd(line: string, separator: Separator): number {
  let at = line.length;
  while (line[at - 1] === separator) at -= 1;
  return line.length - at;
}

function sizedRow({ line, fields }: CsvRow, columns: number): TableRow {
  const more = fields.slice(columns).find((field) => field.trim() !== "");
  const isShort = fields.length < columns;
  // A field over several lines in a row that lacks some may have swallowed them.
  if (more === undefined && !(isShort && fields.some((field) => /[\r\n]/.test(field)))) {
    const missing = Array.from({ length: Math.max(0, columns - fields.length) }, () => "");
    return { line, fields: [...fields.slice(0, columns), ...missing] };
  }
  const detail = `${fields.length} fields, the header has ${columns}. Quote a field that has the separator in it.`;
  return {
    line,
    fault: note("item_left_out", "syntax_invalid", {
      attribute: "",
      value: more ?? fields.at(-1) ?? "",
      detail,
    }),
  };
}
