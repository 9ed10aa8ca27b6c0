// A business's CSV files: our reader against itself, and against csv-parse where both have the same semantics.

import { CsvError, parse } from "csv-parse/sync";
import { type CsvOutcome, parseCsv } from "../../client/feeds/csv.ts";
import { type FuzzTarget, must, mustEqual } from "./target.ts";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

export const csv: FuzzTarget = {
  name: "csv",
  seeds: ['a,b,c\n1,"x, ""y""",3\r\n\n4,5,6', '"multi\nline",b\n', "price_US;price_currency_US\n1,5;USD"].map(
    utf8,
  ),
  words: ['"', '""', ",", "\n", "\r\n", "\r", ";", "\t", '","', "\ufeff"],
  check: (input) => {
    const text = new TextDecoder().decode(input);
    for (const separator of [",", ";", "\t"] as const) judgeByLibrary(text, separator);
    const read = parseCsv(text);
    if (!read.ok) return read.detail;
    const written = read.rows
      .map((each) => each.fields.map((field) => `"${field.replaceAll('"', '""')}"`).join(","))
      .join("\n");
    const again = parseCsv(written);
    must(again.ok, "rows that were read cannot be read again");
    if (again.ok) mustEqual(fieldsOf(again), fieldsOf(read), "the fields");
    return `ok ${Math.min(read.rows.length, 4)}`;
  },
};

/** csv-parse's first fault is ours too, with this text; a quote in an unquoted field is no fault here, but text. */
const details: Readonly<Record<string, string | undefined>> = {
  CSV_QUOTE_NOT_CLOSED: "A quoted field is not closed.",
  CSV_INVALID_CLOSING_QUOTE: "Text follows a quoted field.",
};

function judgeByLibrary(text: string, delimiter: "," | ";" | "\t"): void {
  // csv-parse takes a zero byte for the end of its input where a quoted field has just ended, and continues.
  if (text.includes("\0")) return;
  const read = parseCsv(text, delimiter);
  try {
    const rows = parse(text, {
      delimiter,
      record_delimiter: ["\r\n", "\n", "\r"],
      relax_column_count: true,
    });
    must(read.ok, "a file that csv-parse reads is refused");
    if (read.ok)
      mustEqual(
        fieldsOf(read),
        rows.filter((fields) => fields.length > 1 || fields[0] !== ""),
        "the fields of csv-parse",
      );
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const detail = details[error.code];
    if (detail !== undefined)
      mustEqual(read.ok ? "read" : read.detail, detail, "a file that csv-parse refuses");
  }
}

function fieldsOf(read: CsvOutcome & { readonly ok: true }): readonly (readonly string[])[] {
  return read.rows.map(({ fields }) => fields);
}
