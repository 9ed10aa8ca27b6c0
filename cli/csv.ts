// CSV (RFC 4180): quoted fields may hold commas, line breaks and doubled quotes. Each row knows its line.
// It is used instead of csv-parse 7.0.3, against which the fuzz target compares it, because that has no setting for what a
// file of products needs. In strict mode csv-parse rejects a file for a quote within an unquoted field (`5" nail`), which
// tab-separated exports write; with `relax_quotes` it accepts a quoted field that continues after its closing quote, and a
// product would be sealed under a name with quotes in it. It also counts a CRLF within a quoted field as two lines, and
// takes twice the time.

export interface CsvRow {
  /** Line of the file on which the row starts, counted from 1. */
  readonly line: number;
  readonly fields: readonly string[];
}

export type CsvOutcome =
  | { readonly ok: true; readonly rows: readonly CsvRow[] }
  | { readonly ok: false; readonly line: number; readonly detail: string };

/** Parses CSV text. Empty lines are skipped. */
export function parseCsv(text: string, separator: "," | ";" | "\t" = ","): CsvOutcome {
  const rows: CsvRow[] = [];
  const reader = { text, separator, at: 0, line: 1 };
  while (reader.at < text.length) {
    const line = reader.line;
    const fields = readRow(reader);
    if (typeof fields === "string") return { ok: false, line: reader.line, detail: fields };
    if (fields.length > 1 || fields[0] !== "") rows.push({ line, fields });
  }
  return { ok: true, rows };
}

interface Reader {
  readonly text: string;
  readonly separator: string;
  at: number;
  line: number;
}

/** Reads the fields up to the end of the row, or returns a message about what is wrong. */
function readRow(reader: Reader): string[] | string {
  const fields: string[] = [];
  for (;;) {
    const field = reader.text[reader.at] === '"' ? readQuoted(reader) : readPlain(reader);
    if (field === null) return "A quoted field is not closed.";
    fields.push(field);
    const next = reader.text[reader.at];
    if (next === reader.separator) {
      reader.at += 1;
      continue;
    }
    if (next !== undefined && next !== "\n" && next !== "\r") return "Text follows a quoted field.";
    skipLineEnd(reader);
    return fields;
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
