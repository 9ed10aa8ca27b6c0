// Reads a file of products: NDJSON, a JSON array, or CSV, optionally gzipped. Nothing is sent of a file with a fault.

import { gunzipSync } from "node:zlib";
import { base64Length, recordCharactersMax } from "../client/batch.ts";
import { checkProductColumn, productOfColumns, productSchema } from "../client/product-columns.ts";
import { type JsonValue, parseJsonText, parseText, recordBytes } from "../client/record-bytes.ts";
import { isObject } from "../std/is-object.ts";
import { type CsvRow, parseCsv } from "./csv.ts";

export const fileFormats = ["ndjson", "json", "csv", "tsv"] as const;
export type FileFormat = (typeof fileFormats)[number];

export interface InputRecord {
  /** The exact bytes to seal. */
  readonly bytes: Uint8Array;
  /** Line of the file on which it starts, or its index in a JSON array; counted from 1. */
  readonly place: number;
}

export interface InputFault {
  /** The line or item; 0 for the file as a whole. */
  readonly place: number;
  readonly detail: string;
}

export type ProductFile =
  | { readonly ok: true; readonly records: readonly InputRecord[]; readonly placeName: "line" | "item" }
  | { readonly ok: false; readonly faults: readonly InputFault[]; readonly placeName: "line" | "item" };

export interface ReadOptions {
  /** Null means that the format is detected from the file's name and first character. */
  readonly format: FileFormat | null;
  /** Column of the file → column of a product; a column mapped to nothing is omitted. */
  readonly map: ReadonlyMap<string, string>;
  /** Values for columns that the file does not have, applied to every product. */
  readonly set: ReadonlyMap<string, string>;
}

/** Reading stops after this many faults. */
const faultsMax = 20;
const recordBytesMax = (recordCharactersMax / 4) * 3;
const gzipMagic = [0x1f, 0x8b];

export function parseProductFile(name: string, contents: Uint8Array, options: ReadOptions): ProductFile {
  const isGzip = gzipMagic.every((byte, at) => contents[at] === byte);
  const text = parseText(isGzip ? gunzipSync(contents) : contents);
  if (!text.ok) return failed([{ place: 0, detail: text.detail }]);
  const format = options.format ?? guessFormat(isGzip ? name.replace(/\.gz$/, "") : name, text.value);
  if (format === "json") return readArray(text.value);
  const outcome = format === "ndjson" ? readLines(text.value) : readColumns(text.value, format, options);
  if (outcome.ok && outcome.records.length === 0)
    return failed([{ place: 0, detail: "The file has no products." }]);
  return outcome;
}

function guessFormat(name: string, text: string): FileFormat {
  const extension = /\.([a-z]+)$/.exec(name.toLowerCase())?.[1];
  if (extension === "csv" || extension === "tsv") return extension;
  return text.trimStart().startsWith("[") ? "json" : "ndjson";
}

function failed(faults: readonly InputFault[], placeName: "line" | "item" = "line"): ProductFile {
  return { ok: false, faults, placeName };
}

/** Collects records, and faults up to a limit. */
function createCollector(placeName: "line" | "item") {
  const records: InputRecord[] = [];
  const faults: InputFault[] = [];
  return {
    isFull: () => faults.length >= faultsMax,
    fault: (place: number, detail: string) => void faults.push({ place, detail }),
    record: (place: number, value: JsonValue): void => {
      const bytes = recordBytes(withSchema(value));
      // The service refuses a whole request for one record that is too large.
      if (base64Length(bytes.length) <= recordCharactersMax) records.push({ place, bytes });
      else
        faults.push({
          place,
          detail: `The record has ${bytes.length} bytes; ${recordBytesMax} are allowed.`,
        });
    },
    outcome: (): ProductFile =>
      faults.length > 0 ? failed(faults, placeName) : { ok: true, records, placeName },
  };
}

/** Adds the current schema to a product that does not name one; any other fault is reported by the service. */
function withSchema(value: JsonValue): JsonValue {
  return isObject(value) && !("schema" in value) ? { schema: productSchema, ...value } : value;
}

function readLines(text: string): ProductFile {
  const collector = createCollector("line");
  let place = 0;
  for (const line of text.split("\n")) {
    place += 1;
    if (line.trim() === "") continue;
    const value = parseJsonText(line);
    if (value.ok) collector.record(place, value.value);
    else collector.fault(place, value.detail);
    if (collector.isFull()) break;
  }
  return collector.outcome();
}

function readArray(text: string): ProductFile {
  const value = parseJsonText(text);
  if (!value.ok) return failed([{ place: 0, detail: value.detail }]);
  if (!Array.isArray(value.value)) return failed([{ place: 0, detail: "The file is not a JSON array." }]);
  if (value.value.length === 0) return failed([{ place: 0, detail: "The file has no products." }]);
  const collector = createCollector("item");
  for (const [index, item] of value.value.entries()) collector.record(index + 1, item as JsonValue);
  return collector.outcome();
}

function readColumns(text: string, format: "csv" | "tsv", options: ReadOptions): ProductFile {
  const parsed = parseCsv(text, format === "tsv" ? "\t" : separatorOf(text));
  if (!parsed.ok) return failed([{ place: parsed.line, detail: parsed.detail }]);
  const [header, ...rows] = parsed.rows;
  if (header === undefined) return failed([{ place: 0, detail: "The file has no header." }]);
  const names = header.fields.map((name) => options.map.get(name.trim()) ?? name.trim());
  const unknown = [...names.filter((name) => name !== ""), ...options.set.keys()].flatMap((name) => {
    const known = checkProductColumn(name);
    return known.ok
      ? []
      : [
          {
            place: header.line,
            detail: `${known.detail} Rename it with --map, or remove it with --map '${name}='.`,
          },
        ];
  });
  if (unknown.length > 0) return failed(unknown);
  const collector = createCollector("line");
  for (const row of rows) {
    const columns = columnsOf(row, names, options.set);
    if (columns === null)
      collector.fault(row.line, `${row.fields.length} fields, the header has ${names.length}.`);
    else addProduct(collector, row.line, columns);
    if (collector.isFull()) break;
  }
  return collector.outcome();
}

/** In many countries spreadsheets export CSV with semicolons. */
function separatorOf(text: string): "," | ";" {
  const [header = ""] = text.split("\n", 1);
  return header.includes(";") && !header.includes(",") ? ";" : ",";
}

function columnsOf(
  row: CsvRow,
  names: readonly string[],
  set: ReadonlyMap<string, string>,
): Map<string, string> | null {
  if (row.fields.length !== names.length) return null;
  const columns = new Map(set);
  for (const [at, name] of names.entries()) {
    const field = row.fields[at] ?? "";
    if (name !== "" && field.trim() !== "") columns.set(name, field);
  }
  return columns;
}

function addProduct(
  collector: ReturnType<typeof createCollector>,
  line: number,
  columns: Map<string, string>,
): void {
  const product = productOfColumns(columns);
  if (product.ok) collector.record(line, product.value);
  else collector.fault(line, product.detail);
}
