// Reads a file of records of any type, or an AI policy, into the exact bytes to seal: JSON, a table, a calendar, or JSON-LD of schema.org.
// Products are read as a feed is.

import { aiPolicySchemaId } from "../../protocol/ai-policy.ts";
import { type CollectionName, collectionNames } from "../../protocol/identifiers.ts";
import type { JsonObject, JsonValue } from "../../protocol/json/canonical-json.ts";
import { isObject } from "../../std/json-pointer.ts";
import { FeedError, type FeedItem, leftOut, note } from "../feeds/feed-item.ts";
import { parseFeedMapping } from "../feeds/feed-mapping.ts";
import { type Bytes, textOf } from "../feeds/feed-text.ts";
import { checkedItems, itemLengthMax, readFeed } from "../feeds/read-feed.ts";
import { separatorOf, tableRows } from "../feeds/table-rows.ts";
import { parseJsonText, recordBytes } from "../record-set.ts";
import { calendarEvents } from "./calendar-events.ts";
import { isCalendar } from "./icalendar.ts";
import { isTimeZone } from "./local-time.ts";
import { assertPaths, type Beside, RecordDraft } from "./record-draft.ts";
import { tableRecords } from "./record-table.ts";
import { describedRecords, describedTypes, isJsonLd } from "./schema-org.ts";

/** What may be sealed alone. */
export type DocumentType = CollectionName | "ai_policy";
export const documentTypes: readonly DocumentType[] = [...collectionNames, "ai_policy"];

export interface DocumentOptions {
  /** Null or absent: it is found by the content, which for a table is not possible. */
  readonly type?: DocumentType | null;
  /** Values by the path of a member, for records of which the file does not say it. */
  readonly set?: ReadonlyMap<string, string>;
  /** Members as JSON, likewise. */
  readonly members?: JsonObject;
  /** Members of the columns of a table by their names; null leaves one out. */
  readonly renamed?: ReadonlyMap<string, string | null>;
  /** The time zone of local times, and of events, such as `Europe/Paris`. */
  readonly timeZone?: string | null;
  /** Unix milliseconds; the default is the current time. */
  readonly nowMs?: number;
}

export interface Documents {
  readonly type: DocumentType;
  /** What the place of an item counts. */
  readonly placeName: "line" | "item";
  readonly items: AsyncIterable<FeedItem>;
}

/** Characters of a file that is read as a whole. */
const textLengthMax = 16_777_216;

/** Rejects with {@link FeedError}, as `items` does, for a file that is none of these or cannot be read on. */
export async function readDocuments(bytes: Bytes, options: DocumentOptions = {}): Promise<Documents> {
  const { timeZone: zone = null, nowMs = Date.now() } = options;
  if (zone !== null && !isTimeZone(zone))
    throw new FeedError(
      0,
      `${JSON.stringify(zone)} is no time zone: write a name of the IANA database such as Europe/Paris.`,
    );
  const { set = new Map<string, string>(), members = {} } = options;
  const beside: Beside = { set, members, zone, nowMs };
  const text = await whole(textOf(bytes));
  const start = text.trimStart();
  if (start === "") throw new FeedError(0, "The file is empty.");
  if (options.type === "products") return productsOf(text, options);
  if (isCalendar(text)) {
    assertType(options, ["events"], "a calendar");
    assertPaths("events", beside);
    return { type: "events", placeName: "line", items: checkedItems(each(calendarEvents(text, beside))) };
  }
  if (start.startsWith("{") || start.startsWith("[")) return jsonDocuments(text, options, beside);
  const { type = null, renamed = new Map() } = options;
  if (type === null)
    throw new FeedError(
      0,
      "Nothing in a table says what its rows are: name it with --type events, for example.",
    );
  if (type === "ai_policy") throw new FeedError(0, "An AI policy is written as JSON.");
  assertPaths(type, beside);
  const rows = tableRows(each([text]), separatorOf(text), itemLengthMax);
  return { type, placeName: "line", items: checkedItems(tableRecords(rows, type, { beside, renamed })) };
}

async function whole(pieces: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const piece of pieces) {
    text += piece;
    if (text.length > textLengthMax)
      throw new FeedError(
        0,
        `The file has more than ${textLengthMax} characters. Catalogues of products are pushed.`,
      );
  }
  return text.replace(/^\uFEFF/, "");
}

async function* each<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items;
}

function assertType({ type = null }: DocumentOptions, found: readonly DocumentType[], what: string): void {
  if (type !== null && !found.includes(type))
    throw new FeedError(0, `This is ${what}, which has no ${type}.`);
}

/** The products of a feed in any of its formats. */
async function productsOf(
  text: string,
  { set, renamed, members, nowMs }: DocumentOptions,
): Promise<Documents> {
  const columns = Object.fromEntries(renamed ?? []);
  const mapping = parseFeedMapping({ v: 1, columns, defaults: members ?? {} });
  if (!mapping.ok) throw new FeedError(0, `What is said beside the file cannot be used: ${mapping.detail}`);
  const bytes = each([new TextEncoder().encode(oneOnEachLine(text))]);
  const given = { ...(set === undefined ? {} : { set }), ...(nowMs === undefined ? {} : { nowMs }) };
  const feed = await readFeed(bytes, { mapping: mapping.value, ...given });
  return { type: "products", placeName: feed.placeName, items: feed.items };
}

/** A product over several lines is read as well: a feed has one on each. */
function oneOnEachLine(text: string): string {
  const parsed = text.trimStart().startsWith("{") ? parseJsonText(text.trim()) : null;
  return parsed?.ok === true ? JSON.stringify(parsed.value) : text;
}

// JSON: one value, an array, or one value on each line.

interface Placed {
  readonly place: number;
  readonly value: JsonValue;
}

function jsonDocuments(
  text: string,
  options: DocumentOptions,
  beside: Beside,
): Documents | Promise<Documents> {
  const { values, placeName, faults } = valuesOf(text);
  const types = new Set(values.flatMap(({ value }) => typesIn(value)));
  if (options.type == null && types.size > 1)
    throw new FeedError(
      0,
      `The file has ${[...types].join(" and ")}: name with --type which of them are meant.`,
    );
  const type = options.type ?? [...types][0] ?? null;
  if (type === null)
    throw new FeedError(
      0,
      `Nothing in the file says what it is: write "schema": "svc/events/1" into the record, for example, or name it with --type. Types are ${documentTypes.join(", ")}.`,
    );
  if (type === "products") return productsOf(text, options);
  if (type !== "ai_policy") assertPaths(type, beside);
  const items = values.flatMap(({ place, value }) =>
    type === "ai_policy" ? [policyOf(place, value)] : recordsOf({ place, value }, type, beside),
  );
  if (items.length + faults.length === 0) throw new FeedError(0, `The file has no ${type}.`);
  return {
    type,
    placeName,
    items: checkedItems(each([...items, ...faults].sort((a, b) => a.place - b.place))),
  };
}

function valuesOf(text: string): {
  readonly values: readonly Placed[];
  readonly placeName: "line" | "item";
  readonly faults: readonly FeedItem[];
} {
  const all = parseJsonText(text.trim());
  if (all.ok) {
    const list = Array.isArray(all.value) ? (all.value as readonly JsonValue[]) : [all.value];
    return { values: list.map((value, at) => ({ place: at + 1, value })), placeName: "item", faults: [] };
  }
  const lines = text.split("\n").map((line, at) => ({ line: line.trim(), place: at + 1 }));
  const written = lines.filter(({ line }) => line !== "");
  const read = written.map(({ line, place }) => ({ line, place, parsed: parseJsonText(line) }));
  // Of a value over several lines no line is one.
  if (read.every(({ parsed }) => !parsed.ok) || read[0]?.parsed.ok === false)
    throw new FeedError(0, `The file is not JSON: ${all.detail}`);
  return {
    values: read.flatMap(({ place, parsed }) => (parsed.ok ? [{ place, value: parsed.value }] : [])),
    placeName: "line",
    faults: read.flatMap(({ place, line, parsed }) => {
      if (parsed.ok) return [];
      const why = note("item_left_out", "syntax_invalid", {
        attribute: "",
        value: line,
        detail: parsed.detail,
      });
      return [leftOut(place, why)];
    }),
  };
}

const schemaForm = /^svc\/([a-z_]+)\/[0-9]+$/;

function typesIn(value: JsonValue): readonly DocumentType[] {
  if (isJsonLd(value)) return describedTypes(value);
  const named = isObject(value) ? schemaForm.exec(String(value["schema"]))?.[1] : undefined;
  return documentTypes.filter((each) => each === named);
}

function recordsOf(
  { place, value }: Placed,
  type: Exclude<CollectionName, "products">,
  beside: Beside,
): readonly FeedItem[] {
  if (isJsonLd(value) && type !== "updates") return describedRecords(place, value, { type, beside });
  if (!isObject(value)) {
    const why = note("item_left_out", "syntax_invalid", {
      attribute: "",
      value: JSON.stringify(value),
      detail: "Must be an object.",
    });
    return [leftOut(place, why)];
  }
  return [new RecordDraft(type, beside, value).finished(place, { emptyLists: false })];
}

function policyOf(place: number, value: JsonValue): FeedItem {
  const policy = isObject(value) ? { schema: aiPolicySchemaId, ...value } : value;
  return { place, id: null, bytes: recordBytes(policy), notes: [] };
}
