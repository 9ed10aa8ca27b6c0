// The rows of a table below its header, as spreadsheets and shops write them.
//   T1. A row is never made of two: a quoted field that holds what looks like the ends and beginnings of other rows is a quote
//       that was never closed, and the file is refused, since nobody can tell what belongs to which product.
//       No row is divided at the `;` of an entity either: what follows it would be the next column's.
//   T2. Empty fields that are missing at the end of a row, or that follow the last column, mean nothing, except where the file
//       or a quote may have been cut off.

import { type CsvRow, csvRows, parseCsv, type Separator } from "./csv.ts";
import { FeedError, type FeedNote, note } from "./feed-item.ts";
import { endsWithinEntity } from "./published-text.ts";

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
  /** A row that is not yielded before the next is known, and whether it is a piece of one. */
  let last: CsvRow | null = null;
  let isPiece = false;
  let began: Began = { first: "", least: 0, most: 0 };
  for await (const row of csvRows(text, separator, rowLengthMax)) {
    const { line, fields } = row;
    const isDeclaration = line === 1 && declaration.test(fields.join(separator));
    if (isDeclaration) continue;
    const joined = joinedField(fields, columns ?? fields.length, separator);
    if (joined !== null) throw new FeedError(line, unclosed(joined));
    if (columns === null) {
      columns = fields.length;
      yield row;
      continue;
    }
    // What is not whole yet may have ended with the row before the last, and another row begun with the last.
    const width = columns;
    const before: readonly Began[] = last === null || began.least >= width ? [] : [began, beginOf(last)];
    const begun = before.find((each) => isRestOf(each, row, width));
    const goesOn = begun !== undefined;
    began = goesOn ? withRest(begun, row) : beginOf(row);
    if (last !== null) yield sizedRow(last, { columns, separator, isPiece: isPiece || goesOn });
    last = row;
    isPiece = goesOn;
  }
  if (columns === null) throw new FeedError(0, "The file has no header.");
  if (last !== null) yield sizedRow(last, { columns, separator, isPiece });
}

/** A row, or what there is of it so far: its first field, and how many fields it has if commas of texts made some of them, or none. */
interface Began {
  readonly first: string;
  readonly least: number;
  readonly most: number;
}

function beginOf({ fields, loose }: CsvRow): Began {
  return { first: fields[0] ?? "", least: fields.length - loose, most: fields.length };
}

function withRest({ first, least, most }: Began, row: CsvRow): Began {
  const more = toldApart(row) - 1;
  return { first, least: least + more, most: most + more + row.loose };
}

/** Whether a line end within a field has broken a row that is not whole: fields that do not begin like it complete it. */
function isRestOf(began: Began, row: CsvRow, columns: number): boolean {
  const isLikeIt = shapeOf(began.first) === shapeOf(row.fields[0] ?? "");
  const { least, most } = withRest(began, row);
  const isWhole = least < most && least <= columns && columns <= most;
  return isWhole || (!isLikeIt && least <= columns);
}

/** How many fields a row has, without empty ones at its end and those that a comma of a text that is not quoted has made. */
function toldApart(row: CsvRow): number {
  return row.fields.findLastIndex((field) => field !== "") + 1 - row.loose;
}

function unclosed(field: string): string {
  const start = JSON.stringify(field.split(/[\r\n]/, 1)[0]?.slice(0, 60) ?? "");
  return `A quote is not closed: the field that begins with ${start} would swallow the rows below it. Double a quote that is part of the text (""), in a field that is quoted as a whole; a text over several lines that looks like rows has to be written in one.`;
}

/**
 * A field over several lines that cannot be one field: its first line completes the row in which it stands and its last line
 * begins that which it ends, or one of its lines looks like a row of the table.
 */
function joinedField(fields: readonly string[], columns: number, separator: Separator): string | null {
  // The commas of a text have a space after them; those of a table only where its other fields have it too, or in a padded field.
  const isSpaced = fields.some((field, at) => at > 0 && /^ /.test(field));
  const count = (line: string): number =>
    line
      .slice(0, line.length - separatorsAtEnd(line, separator))
      .split(separator)
      .filter((rest, at) => at > 0 && (isSpaced || !/^\s(?!\s)/.test(rest))).length;
  const isLikeRow = (line: string): boolean =>
    count(line) > 0 && shapeOf(line.split(separator, 1)[0] ?? "") === shapeOf(fields[0] ?? "");
  for (const [before, field] of fields.entries()) {
    const lines = field.split(/\r\n?|\n/);
    if (lines.length === 1) continue;
    if (separator === "\t" && field.includes("\t")) return field;
    const [first = "", last = ""] = [lines[0], lines.at(-1)];
    const rest = columns - before - 1;
    const missing = columns - (fields.length - before);
    // The last fields of a row are often empty, and so may be what precedes the quote that ends the field.
    const beginsRow = count(first) + separatorsAtEnd(first, separator) >= rest;
    // A row may lack its end: empty fields, or because the file was cut.
    const endsRow = count(last) + separatorsAtEnd(last, separator) >= (rest === 0 ? missing : missing / 2);
    const completes = endsRow && (rest === 0 ? missing > 0 : beginsRow);
    // What begins like a row has its commas, whatever is behind them; where the first line completes this one, a few are enough.
    const isRowsEnd =
      missing > 0 &&
      isLikeRow(last) &&
      (last.split(separator).length > Math.min(missing, Math.max(4, missing / 2)) || (rest > 0 && beginsRow));
    const isRow = (line: string): boolean => count(line) >= Math.max(2, columns - 1) || isLikeRow(line);
    // No text begins so, but a row does of which the first fields are empty: another variant of the product above, or a picture.
    const isMostlyEmpty = (line: string): boolean =>
      line.startsWith(separator.repeat(2)) || (line.startsWith(separator) && count(line) > 1);
    if (completes || isRowsEnd || lines.slice(1, -1).some(isRow) || lines.slice(1).some(isMostlyEmpty))
      return field;
  }
  return null;
}

/** `sku-1` and `sku-24` have one shape. */
function shapeOf(field: string): string {
  return field
    .trim()
    .replaceAll(/\p{L}+/gu, "a")
    .replaceAll(/\p{Nd}+/gu, "9");
}

function separatorsAtEnd(line: string, separator: Separator): number {
  let at = line.length;
  while (line[at - 1] === separator) at -= 1;
  return line.length - at;
}

interface Sizing {
  readonly columns: number;
  readonly separator: Separator;
  readonly isPiece: boolean;
}

function sizedRow(row: CsvRow, sizing: Sizing): TableRow {
  const { line, fields } = row;
  const { columns } = sizing;
  const detail = sizeFault(row, sizing);
  if (detail === null) {
    const missing = Array.from({ length: Math.max(0, columns - fields.length) }, () => "");
    return { ...row, fields: [...fields.slice(0, columns), ...missing] };
  }
  const value = fields.slice(columns).find((field) => field.trim() !== "") ?? fields.at(-1) ?? "";
  return { line, fault: note("item_left_out", "syntax_invalid", { attribute: "", value, detail }) };
}

/** Why the fields of a row may be those of other columns or rows; null where nothing but empty ones is missing or too much. */
function sizeFault(
  { fields, isCut, hasStrayQuote, loose }: CsvRow,
  { columns, separator, isPiece }: Sizing,
): string | null {
  if (hasStrayQuote && separator !== "\t")
    return 'A quote within a quoted field is not doubled (""), so nobody can tell where the field ends.';
  const divided = separator === ";" ? fields.slice(0, -1).find(endsWithinEntity) : undefined;
  if (divided !== undefined)
    return `A ; that ends the entity ${divided.slice(divided.lastIndexOf("&"))} separates fields: quote a field that has the separator in it.`;
  // The comma of a text that is not quoted may stand for the field that is missing, and the space after it be all there is left.
  const isBlank = isCut && /^\s+$/.test(fields.at(-1) ?? "");
  const mayBeShort = isBlank || fields.length - loose < columns;
  const size = `${fields.length} fields, the header has ${columns}.`;
  if (mayBeShort && isCut) return `${size} The line has no end, so the file may not be whole.`;
  if (isPiece) return `${size} It seems to be a piece of a row: quote a field that has a line end in it.`;
  const hasMore = fields.slice(columns).some((field) => field.trim() !== "");
  // A field over several lines may have swallowed those that the row lacks, or the row before that to which those behind it belong.
  const isJoined = fields.length !== columns && fields.some((field) => /[\r\n]/.test(field));
  const isLoose = loose > 0 && fields.length > columns;
  return hasMore || isJoined || isLoose ? `${size} Quote a field that has the separator in it.` : null;
}
