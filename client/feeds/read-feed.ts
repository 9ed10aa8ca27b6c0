// Reads a file of products in any of the formats, as it arrives, into the exact bytes to seal.

import { ok, type Result, refuse } from "../../protocol/result.ts";
import { isObject } from "../../std/json-pointer.ts";
import { base64Length, recordCharactersMax } from "../batch.ts";
import { type JsonValue, ownIdOf, parseJsonText, recordBytes } from "../record-set.ts";
import type { CsvRow } from "./csv.ts";
import { FeedError, type FeedItem, leftOut, markupKept, note } from "./feed-item.ts";
import { emptyMapping, type FeedMapping, mappedMembers, mapsColumns } from "./feed-mapping.ts";
import { type Bytes, type FeedEncoding, linesOf, peek, textOf } from "./feed-text.ts";
import { arrayItems } from "./json-items.ts";
import { jsonLdItems } from "./json-ld.ts";
import { isMerchantHeader } from "./merchant-item.ts";
import { createMerchantMapper } from "./merchant-product.ts";
import { merchantRows } from "./merchant-tsv.ts";
import { merchantXmlItems } from "./merchant-xml.ts";
import { createColumnReader } from "./product-columns.ts";
import { membersOf, productSchema, type RowRecord } from "./product-row.ts";
import { hasMarkup, leftOver } from "./published-text.ts";
import {
  columnTwice,
  ShopRows,
  shopExportOf,
  shopHeader,
  shopMapping,
  shopSettings,
} from "./shop-exports.ts";
import type { ShopExport } from "./shop-programs.ts";
import { headerFields, separatorOf, tableRows } from "./table-rows.ts";

export const feedFormats = ["ndjson", "json", "csv", "tsv", "merchant-tsv", "merchant-xml"] as const;
export type FeedFormat = (typeof feedFormats)[number];

export interface FeedOptions {
  /** Null or absent: the format is detected from the content. */
  readonly format?: FeedFormat | null;
  /** Null or absent: UTF-8, or UTF-16 with its mark. */
  readonly encoding?: FeedEncoding | null;
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
export const itemLengthMax = 1_048_576;
/** An error page or a login page is often what comes in place of a feed. */
const htmlPage = /^\s*(?:<\?[^>]*>\s*|<!--[\s\S]*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b/i;
/** The format is detected within this many characters. */
const headerLengthMax = 16_384;
const recordBytesMax = (recordCharactersMax / 4) * 3;

/**
 * Reads a feed of products in any of {@link feedFormats}, gzipped or not, as its bytes arrive: at most 1,048,576 characters
 * for each item. Rejects with {@link FeedError}, as `items` does, for what is no such feed or cannot be read on.
 */
export async function readFeed(bytes: Bytes, options: FeedOptions = {}): Promise<Feed> {
  const { first, all: text } = await peek(textOf(bytes, options.encoding), isDetectable);
  const start = first.join("");
  if (htmlPage.test(start))
    throw new FeedError(
      0,
      "This is a page for people (HTML), not a feed. Open its address in a browser: it may be the message of an error.",
    );
  const format = options.format ?? detectFormat(start);
  const misnamed = misnamedAs(format, start);
  if (misnamed !== null) throw new FeedError(0, misnamed);
  const separator = separatorOf(start);
  const items = {
    ndjson: () => jsonItems(linesOf(text, itemLengthMax), options, true),
    json: () => jsonItems(placed(arrayItems(text, itemLengthMax)), options, false),
    csv: () => rowItems(tableRows(text, separator, itemLengthMax), options),
    tsv: () => rowItems(tableRows(text, "\t", itemLengthMax), options),
    "merchant-tsv": () => merchantItems(merchantRows(text, separator, itemLengthMax), options),
    "merchant-xml": () => merchantItems(merchantXmlItems(text, itemLengthMax), options),
  }[format]();
  return { format, placeName: format === "json" ? "item" : "line", items: checkedItems(items) };
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
  if (separatorOf(start) !== "\t") return "csv";
  return isMerchantHeader(headerFields(start)) ? "merchant-tsv" : "tsv";
}

/** Why a file is not in the format that was named for it, where its first character says so; null otherwise. */
function misnamedAs(format: FeedFormat, start: string): string | null {
  const first = start.trimStart()[0] ?? "";
  const kind = ({ "<": "XML", "[": "a JSON array", "{": "JSON with an object on each line" } as const)[first];
  const wanted: Readonly<Record<string, readonly FeedFormat[]>> = {
    "<": ["merchant-xml"],
    "[": ["json"],
    "{": ["ndjson"],
  };
  if (kind === undefined || wanted[first]?.includes(format)) return null;
  return `This is ${kind}, not ${format}: without --format its kind is found by the content.`;
}

async function* placed(items: ReturnType<typeof arrayItems>) {
  for await (const { place, text } of items) yield { line: place, text };
}

async function* jsonItems(
  lines: AsyncIterable<{ readonly line: number; readonly text: string }>,
  options: FeedOptions,
  isLines: boolean,
): AsyncGenerator<FeedItem> {
  const mapping = withSet(options);
  const defaults = membersOf(mapping.defaults);
  const constants = membersOf(mapping.constants);
  const mapper = createMerchantMapper({ mapping, nowMs: options.nowMs ?? Date.now() });
  for await (const { line, text } of isLines ? wholeObject(lines) : lines) {
    if (text.trim() === "") continue;
    const parsed = parseJsonText(text);
    const described = parsed.ok ? jsonLdItems(line, parsed.value) : null;
    if (described !== null) for (const each of described) yield mapper.map(each);
    else if (parsed.ok) {
      const list = isLines ? listWithin(parsed.value) : null;
      if (list !== null) throw new FeedError(line, oneValue(`with the products in ${JSON.stringify(list)}`));
      yield judged(itemOf(line, completed(parsed.value, defaults, constants)), parsed.value);
    } else
      yield leftOut(
        line,
        note("item_left_out", "syntax_invalid", { attribute: "", value: text, detail: parsed.detail }),
      );
  }
}

/** Maximum characters of an object over several lines, which is read as a whole. */
const wholeLengthMax = 16_777_216;

/** The lines, or what they are together if that is JSON-LD. Rejects with {@link FeedError} for another object over lines. */
async function* wholeObject(lines: AsyncIterable<{ readonly line: number; readonly text: string }>) {
  let whole: { readonly line: number; readonly texts: string[]; length: number } | null = null;
  let isFirst = true;
  for await (const { line, text } of lines) {
    if (
      whole === null &&
      (!isFirst || text.trim() === "" || !/[[{,]$/.test(text.trim()) || parseJsonText(text).ok)
    ) {
      isFirst &&= text.trim() === "";
      yield { line, text };
      continue;
    }
    whole ??= { line, texts: [], length: 0 };
    whole.texts.push(text);
    whole.length += text.length;
    if (whole.length > wholeLengthMax) throw new FeedError(whole.line, oneValue("over several lines"));
  }
  if (whole === null) return;
  const text = whole.texts.join("\n");
  const parsed = parseJsonText(text);
  if (!parsed.ok || jsonLdItems(whole.line, parsed.value) === null)
    throw new FeedError(whole.line, oneValue("over several lines"));
  yield { line: whole.line, text };
}

function oneValue(how: string): string {
  return `This is one JSON object ${how}. An array of products is wanted ([…]), or one product on each line.`;
}

/** Where an object that is no product has a list of objects: the answer of a shop's API, or a graph of JSON-LD. */
function listWithin(value: JsonValue): string | null {
  if (!isObject(value) || "business_product_id" in value || "schema" in value) return null;
  const isList = ([name, each]: [string, JsonValue]): boolean =>
    name !== "prices" && Array.isArray(each) && each.length > 0 && each.every((item) => isObject(item));
  return Object.entries(value).find(isList)?.[0] ?? null;
}

const textMembers = ["business_product_id", "product_name", "short_description", "brand"];

/** A record is taken exactly as it is, but not with a text that only a broken export writes. */
function judged(item: FeedItem, record: JsonValue): FeedItem {
  if (!isObject(record)) return item;
  const texts = textMembers.map((name) => [name, record[name]] as const);
  const tags = Array.isArray(record["tags"]) ? record["tags"].map((tag) => ["tags", tag] as const) : [];
  const notes = [...texts, ...tags].flatMap(([attribute, value]) => {
    if (typeof value !== "string") return [];
    const detail = leftOver(value);
    if (detail !== null) return [note("item_left_out", "value_invalid", { attribute, value, detail })];
    return hasMarkup(value) ? [markupKept(attribute, value)] : [];
  });
  return {
    ...item,
    bytes: notes.some(({ effect }) => effect === "item_left_out") ? null : item.bytes,
    notes,
  };
}

/** Adds the current schema to a product that does not name one; any other fault is reported by the service. */
function completed(
  value: JsonValue,
  defaults: Readonly<Record<string, JsonValue>>,
  constants: Readonly<Record<string, JsonValue>>,
): JsonValue {
  return isObject(value) ? { schema: productSchema, ...defaults, ...value, ...constants } : value;
}

async function* rowItems(rows: ReturnType<typeof tableRows>, options: FeedOptions): AsyncGenerator<FeedItem> {
  const { mapping = emptyMapping, set } = options;
  let reader: RowsReader | null = null;
  for await (const row of rows) {
    const { line } = row;
    if ("fault" in row) yield leftOut(line, row.fault);
    else if (reader === null) {
      const program = mapsColumns(mapping) ? null : shopExportOf(row.fields);
      const read =
        program === null ? createColumnReader(row.fields, mapping, set) : shopReader(program, row, options);
      if (!read.ok) throw new FeedError(line, read.detail);
      reader = read.value;
    } else {
      const read = reader.read(row.fields);
      if (read === null) continue;
      const { id, record, notes } = read;
      if (record === null) yield { place: line, id, bytes: null, notes };
      else yield { ...itemOf(line, record), notes };
    }
  }
}

/** Reads rows; null for one that is no item. */
interface RowsReader {
  read(cells: readonly string[]): RowRecord | null;
}

/** Reads the rows of a shop program's export. */
function shopReader(
  program: ShopExport,
  { fields, line }: CsvRow,
  options: FeedOptions,
): Result<RowsReader, "column_unknown" | "column_twice"> {
  const twice = columnTwice(program, fields);
  if (twice !== null)
    return refuse(
      "column_twice",
      `The header says ${JSON.stringify(twice)} twice. Take one out of the file: nobody can tell which is meant.`,
    );
  const [shop, currency] = shopSettings.map((name) => options.set?.get(name));
  if (shop === undefined || currency === undefined)
    throw new FeedError(
      line,
      `This is an export of products by ${program.program}, which does not say where the shop is and what its prices are in: --set shop=https://shop.example --set currency=EUR.`,
    );
  const members = [...(options.set ?? [])].filter(([name]) => !shopSettings.some((each) => each === name));
  const mapping = withSet({ ...options, set: new Map(members) });
  const nowMs = options.nowMs ?? Date.now();
  const rows = new ShopRows(program, fields, { shop, currency, nowMs, mapping });
  const columns = createColumnReader(shopHeader, shopMapping(mapping, currency));
  if (!columns.ok) return columns;
  return ok({
    read: (cells) => {
      const row = rows.row(cells);
      if (row === null) return null;
      const { id, record, notes } = columns.value.read(row.cells);
      const isLeftOut = row.notes.some(({ effect }) => effect === "item_left_out");
      const told = notes.map((each) => ({
        ...each,
        attribute: rows.columnOf(each.attribute),
        // With columns or prices in a mapping the file would be a table like others.
        detail: each.detail.replace(/; [a-z_' ]*mapping[^;]*$/, "."),
      }));
      return { id, record: isLeftOut ? null : record, notes: [...told, ...row.notes] };
    },
  });
}

async function* merchantItems(
  items: ReturnType<typeof merchantRows> | ReturnType<typeof merchantXmlItems>,
  options: FeedOptions,
): AsyncGenerator<FeedItem> {
  const mapper = createMerchantMapper({ mapping: withSet(options), nowMs: options.nowMs ?? Date.now() });
  for await (const item of items) yield "fault" in item ? leftOut(item.place, item.fault) : mapper.map(item);
}

function itemOf(place: number, value: JsonValue): FeedItem {
  return { place, id: ownIdOf(value), bytes: recordBytes(value), notes: [] };
}

/** The items of which none is too large, or given twice. */
export function checkedItems(items: AsyncIterable<FeedItem>): AsyncIterable<FeedItem> {
  return once(sized(items));
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

/**
 * Of one product given twice nobody knows which is right, and the second would come as its next version. One that was left out
 * counts: what the file says of it first is not replaced by what it says later.
 */
async function* once(items: AsyncIterable<FeedItem>): AsyncGenerator<FeedItem> {
  const places = new Map<string, number>();
  for await (const item of items) {
    const { id, place, notes } = item;
    const earlier = id === null ? undefined : places.get(id);
    if (id !== null && earlier === undefined) places.set(id, place);
    if (id === null || earlier === undefined || item.bytes === null) {
      yield item;
      continue;
    }
    const detail = `The file has it before, at ${earlier}: take one of them out.`;
    const why = note("item_left_out", "duplicate_in_file", { attribute: "", value: id, detail });
    yield { ...item, bytes: null, notes: [...notes, why] };
  }
}
