// CSV (RFC 4180): quoted fields may hold commas, line breaks and doubled quotes. Each row knows its line.
// It is used instead of csv-parse 7.0.3, against which the fuzz target compares it, because that has no setting for what a
// file of products needs. In strict mode csv-parse rejects a file for a quote within an unquoted field (`5" nail`), which
// tab-separated exports write; with `relax_quotes` it accepts a quoted field that continues after its closing quote, and a
// product would be sealed under a name with quotes in it. It also counts a CRLF within a quoted field as two lines, and
// takes twice the time.

import { FeedError } from "./feed-item.ts";

export interface CsvRow {
  /** Line of the file on which the row starts, counted from 1. */
  readonly line: number;
  readonly fields: readonly string[];
  /** Whether nothing ends the row, not even the last line end of the file. */
  readonly isCut: boolean;
  /** Whether a field that is not quoted ends with a quote, in a row that has a quoted one before it. */
  readonly hasStrayQuote: boolean;
  /** How many fields begin with a space where others do not, as after the comma of a text that is not quoted. */
  readonly loose: number;
}

export type CsvOutcome =
  | { readonly ok: true; readonly rows: readonly CsvRow[] }
  | { readonly ok: false; readonly line: number; readonly detail: string };

export type Separator = "," | ";" | "\t" | "|";

/** Parses CSV text. Empty lines are skipped. */
export function parseCsv(text: string, separator: Separator = ","): CsvOutcome {
  const rows: CsvRow[] = [];
  const reader: Reader = { text, separator, at: 0, line: 1, isLast: true };
  while (reader.at < text.length) {
    const line = reader.line;
    const row = readRow(reader);
    if (row === null || typeof row === "string")
      return { ok: false, line: reader.line, detail: row ?? notClosed };
    if (!isEmptyLine(row.fields)) rows.push({ line, ...row });
  }
  return { ok: true, rows };
}

/** The rows of a text that arrives in pieces. Rejects with {@link FeedError}. */
export async function* csvRows(
  text: AsyncIterable<string>,
  separator: Separator,
  rowLengthMax: number,
): AsyncGenerator<CsvRow> {
  const reader: Reader = { text: "", separator, at: 0, line: 1, isLast: false };
  for await (const piece of text) {
    reader.text = reader.text.slice(reader.at) + piece;
    reader.at = 0;
    yield* wholeRows(reader);
    if (reader.text.length - reader.at > rowLengthMax)
      throw new FeedError(reader.line, `The row is longer than ${rowLengthMax} characters.`);
  }
  reader.isLast = true;
  yield* wholeRows(reader);
}

/** Yields rows until the text ends within one, which is read again once more of it has arrived. */
function* wholeRows(reader: Reader): Generator<CsvRow> {
  while (reader.at < reader.text.length) {
    const { at, line } = reader;
    const row = readRow(reader);
    if (row === null) {
      reader.at = at;
      reader.line = line;
      return;
    }
    if (typeof row === "string") throw new FeedError(reader.line, row);
    if (!isEmptyLine(row.fields)) yield { line, ...row };
  }
}

function isEmptyLine(fields: readonly string[]): boolean {
  return fields.length === 1 && fields[0] === "";
}

interface Reader {
  text: string;
  readonly separator: string;
  at: number;
  line: number;
  /** Whether nothing follows the text. */
  isLast: boolean;
}

const notClosed = "A quoted field is not closed.";

/**
 * Reads the fields up to the end of the row. Returns a message about what is wrong, or null if the row may go on beyond the
 * text.
 */
function readRow(reader: Reader): Omit<CsvRow, "line"> | string | null {
  const fields: string[] = [];
  let hasQuoted = false;
  let hasStrayQuote = false;
  let [loose, tight] = [0, 0];
  for (;;) {
    const isQuoted = reader.text[reader.at] === '"';
    const field = isQuoted ? readQuoted(reader) : readPlain(reader);
    if (field === null) return reader.isLast ? notClosed : null;
    fields.push(field);
    hasStrayQuote ||= hasQuoted && !isQuoted && field.trimEnd().endsWith('"');
    hasQuoted ||= isQuoted;
    if (fields.length > 1 && !isQuoted && field !== "") {
      if (/^ \S/.test(field)) loose += 1;
      else tight += 1;
    }
    const next = reader.text[reader.at];
    // A closing quote may be the first of two, and a carriage return the first half of a line end.
    const isOpen = next === undefined || (next === "\r" && reader.at + 1 === reader.text.length);
    if (isOpen && !reader.isLast) return null;
    if (next === reader.separator) {
      reader.at += 1;
      continue;
    }
    if (next !== undefined && next !== "\n" && next !== "\r") return "Text follows a quoted field.";
    skipLineEnd(reader);
    return { fields, isCut: next === undefined, hasStrayQuote, loose: tight === 0 ? 0 : loose };
  }
}

function readPlain(reader: Reader): string {
  const start = reader.at;
  let { at } = reader;
  const { text, separator } = reader;
  while (at < text.length && text[at] !== separator && text[at] !== "\n" && text[at] !== "\r") at += 1;
  reader.at = at;
  return text.slice(start, at);
}

function readQuoted(reader: Reader): string | null {
  const { text } = reader;
  let value = "";
  let from = reader.at + 1;
  for (;;) {
    const quote = text.indexOf('"', from);
    if (quote < 0) return null;
    value += text.slice(from, quote);
    if (text[quote + 1] !== '"') {
      reader.line += value.split("\n").length - 1;
      reader.at = quote + 1;
      return value;
    }
    value += '"';
    from = quote + 2;
  }
}

function skipLineEnd(reader: Reader): void {
  if (reader.text[reader.at] === "\r") reader.at += 1;
  if (reader.text[reader.at] === "\n") reader.at += 1;
  reader.line += 1;
}
