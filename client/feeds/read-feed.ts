// Reads a file of products in any of the formats, as it arrives, into the exact bytes to seal.

import { isObject } from "../../std/is-object.ts";
import { base64Length, recordCharactersMax } from "../batch.ts";
import { type JsonValue, parseJsonText, recordBytes } from "../record-bytes.ts";
import { type CsvRow, csvRows, parseCsv, type Separator } from "./csv.ts";
import { FeedError, type FeedItem, type FeedNote, note } from "./feed-item.ts";
import { emptyMapping, type FeedMapping, mappedMembers } from "./feed-mapping.ts";
import { type Bytes, linesOf, peek, textOf } from "./feed-text.ts";
import { arrayItems } from "./json-items.ts";
import { createMerchantMapper } from "./merchant-product.ts";
import { isMerchantHeader, merchantRows } from "./merchant-tsv.ts";
import { merchantXmlItems } from "./merchant-xml.ts";
import { createColumnReader, membersOf, productSchema } from "./product-columns.ts";

export const feedFormats = ["ndjson", "json", "csv", "tsv", "merchant-tsv", "merchant-xml"] as const;
export type FeedFormat = (typeof feedFormats)[number];

export interface FeedOptions {
  /** Null or absent: the format is detected from the content. */
  readonly format?: FeedFormat | null;
  readonly mapping?: FeedMapping;
  /** Columns, or members, for items of which the feed does not say them. */
  readonly set?: ReadonlyMap<string, string>;
  /** Unix milliseconds; the default is the current time. */
  readonly nowMs?: number;
}

export interface Feed {
  readonly format: FeedFormat;
  /** What {@link FeedItem.place} counts. */
  readonly placeName: "line" | "item";
  /** Can be iterated once; rejects with {@link FeedError} where the rest of the file cannot be read. */
  readonly items: AsyncIterable<FeedItem>;
}

/** Maximum characters of one line, row or item: a record of the greatest size, escaped at its worst, fits. */
const itemLengthMax = 1_048_576;
/** The format is detected within this many characters. */
const headerLengthMax = 16_384;
const recordBytesMax = (recordCharactersMax / 4) * 3;

/** Rejects with {@link FeedError}. */
export async function readFeed(bytes: Bytes, options: FeedOptions = {}): Promise<Feed> {
  const { first, all: text } = await peek(textOf(bytes), isDetectable);
  const start = first.join("");
  const format = options.format ?? detectFormat(start);
  const items = {
    ndjson: () => jsonItems(linesOf(text, itemLengthMax), withSet(options)),
    json: () => jsonItems(placed(arrayItems(text, itemLengthMax)), withSet(options)),
    csv: () => rowItems(csvRows(text, separatorOf(start), itemLengthMax), options),
    tsv: () => rowItems(csvRows(text, "\t", itemLengthMax), options),
    "merchant-tsv": () => merchantItems(merchantRows(text, itemLengthMax), options),
    "merchant-xml": () => merchantItems(merchantXmlItems(text, itemLengthMax), options),
  }[format]();
  return { format, placeName: format === "json" ? "item" : "line", items: sized(items) };
}

/** The mapping with what was set as defaults. */
function withSet({ mapping = emptyMapping, set = new Map() }: FeedOptions): FeedMapping {
  const unknown = [...set.keys()].find((name) => !mappedMembers.includes(name));
  if (unknown !== undefined)
    throw new FeedError(0, `Products have no member ${JSON.stringify(unknown)} to be set.`);
  return { ...mapping, defaults: { ...mapping.defaults, ...Object.fromEntries(set) } };
}

/** White space in front counts, so that a file of nothing else is not read whole before anybody looks at it. */
function isDetectable(first: readonly string[]): boolean {
  const length = first.reduce((sum, piece) => sum + piece.length, 0);
  return length > headerLengthMax || first.join("").trimStart().includes("\n");
}

/** By the first character, or for tables by the names in the header. */
export function detectFormat(start: string): FeedFormat {
  const first = start.trimStart()[0];
  if (first === "<") return "merchant-xml";
  if (first === "[") return "json";
  if (first === "{" || first === undefined) return "ndjson";
  const [header = ""] = start.trimStart().split("\n", 1);
  if (!header.includes("\t")) return "csv";
  const names = parseCsv(header, "\t");
  const fields = names.ok ? (names.rows[0]?.fields ?? []) : [];
  return isMerchantHeader(fields.map((name) => name.replace(/\(.*\)$/, ""))) ? "merchant-tsv" : "tsv";
}

/** In many countries spreadsheets export CSV with semicolons. */
function separatorOf(text: string): Separator {
  const [header = ""] = text.split("\n", 1);
  return header.includes(";") && !header.includes(",") ? ";" : ",";
}

async function* placed(items: ReturnType<typeof arrayItems>) {
  for await (const { place, text } of items) yield { line: place, text };
}

async function* jsonItems(
  lines: AsyncIterable<{ readonly line: number; readonly text: string }>,
  mapping: FeedMapping,
): AsyncGenerator<FeedItem> {
  const defaults = membersOf(mapping.defaults);
  const constants = membersOf(mapping.constants);
  for await (const { line, text } of lines) {
    if (text.trim() === "") continue;
    const parsed = parseJsonText(text);
    if (parsed.ok) yield itemOf(line, completed(parsed.value, defaults, constants));
    else
      yield leftOut(
        line,
        note("item_left_out", "syntax_invalid", { attribute: "", value: text, detail: parsed.detail }),
      );
  }
}

/** Adds the current schema to a product that does not name one; any other fault is reported by the service. */
function completed(
  value: JsonValue,
  defaults: Readonly<Record<string, JsonValue>>,
  constants: Readonly<Record<string, JsonValue>>,
): JsonValue {
  return isObject(value) ? { schema: productSchema, ...defaults, ...value, ...constants } : value;
}

async function* rowItems(
  rows: AsyncIterable<CsvRow>,
  { mapping = emptyMapping, set }: FeedOptions,
): AsyncGenerator<FeedItem> {
  let reader: ReturnType<typeof createColumnReader> | null = null;
  for await (const { line, fields } of rows) {
    if (reader === null) {
      reader = createColumnReader(fields, mapping, set);
      if (!reader.ok) throw new FeedError(line, reader.detail);
    } else if (reader.ok) {
      const { record, notes } = reader.value.read(fields);
      if (record === null) yield { place: line, id: null, bytes: null, notes };
      else yield { ...itemOf(line, record), notes };
    }
  }
  if (reader === null) throw new FeedError(0, "The file has no header.");
}

async function* merchantItems(
  items: ReturnType<typeof merchantRows> | ReturnType<typeof merchantXmlItems>,
  options: FeedOptions,
): AsyncGenerator<FeedItem> {
  const mapper = createMerchantMapper({ mapping: withSet(options), nowMs: options.nowMs ?? Date.now() });
  for await (const item of items) yield "fault" in item ? leftOut(item.place, item.fault) : mapper.map(item);
}

function itemOf(place: number, value: JsonValue): FeedItem {
  const id = isObject(value) ? value["business_product_id"] : null;
  return { place, id: typeof id === "string" ? id : null, bytes: recordBytes(value), notes: [] };
}

function leftOut(place: number, why: FeedNote): FeedItem {
  return { place, id: null, bytes: null, notes: [why] };
}

/** The service refuses a whole request for one record that is too large. */
async function* sized(items: AsyncIterable<FeedItem>): AsyncGenerator<FeedItem> {
  for await (const item of items) {
    const length = item.bytes?.length ?? 0;
    if (base64Length(length) <= recordCharactersMax) yield item;
    else {
      const detail = `The record has ${length} bytes; ${recordBytesMax} are allowed.`;
      const why = note("item_left_out", "record_too_large", { attribute: "", detail });
      yield { ...item, bytes: null, notes: [...item.notes, why] };
    }
  }
}
