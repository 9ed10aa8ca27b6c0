// Reads a record: turns its exact bytes, as the business sealed them, into a value whose every member is known.
// Also the declarations of updates, jobs and events, and the JSON Schema of every record type.

import { isObject } from "../../std/json-pointer.ts";
import { atOnce } from "../../std/work.ts";
import {
  type CollectionName,
  collectionNames,
  isDecimal,
  parseTimestamp,
  type ShownType,
} from "../identifiers.ts";
import type { JsonObject, JsonValue } from "../json/canonical-json.ts";
import { parsingStrictJson } from "../json/strict-json.ts";
import { millionthsOf } from "../price-list.ts";
import { either, named, pascalCase, type Shape } from "../shape.ts";
import { type AdRecord, ads } from "./ads.ts";
import { businessFiles } from "./business-files.ts";
import {
  boolean,
  code,
  coreMembers,
  FaultList,
  type Field,
  form,
  geopoint,
  httpsUrlForm,
  longText,
  type Members,
  money,
  object,
  optional,
  type RecordCore,
  type RecordFault,
  type RecordType,
  subdivisionForm,
  text,
  timestamp,
  type ValuesOf,
} from "./fields.ts";
import { type ProductRecord, products } from "./products.ts";
import { type Check, fieldCheck, membersCheck } from "./record-validator.ts";
import { currencies } from "./vocabularies/currencies.ts";
import { taxonomyList } from "./vocabularies/taxonomy.ts";
import { timeZones } from "./vocabularies/time-zones.ts";

// svc/updates/1. The members follow from what the specification filters and sorts («Filter fields»).

const updates = {
  collection: "updates",
  version: 1,
  title: "Update",
  members: {
    ...coreMembers("svc/updates/1"),
    headline: text(200, "What is new, in one line."),
    body: longText(2_000, "What is new."),
    update_type: code(taxonomyList("update_types"), "Kind of update."),
    relevant_until: optional(timestamp("When it stops being news.")),
    update_url: optional(form(httpsUrlForm, "Page of the update.")),
  },
  rules: [],
} satisfies RecordType;

// svc/jobs/1. The members follow from what the specification filters and sorts («Filter fields»). Whether the salary is
// disclosed is not stated separately; it is disclosed exactly when `salary` is present.

const salary = object(
  {
    min: money("Lowest salary offered."),
    max: money("Highest salary offered."),
    currency: code(currencies, "Currency of both."),
    period: code(taxonomyList("salary_periods"), "What the salary is paid for."),
  },
  "The salary, where it is disclosed.",
);

const jobs = {
  collection: "jobs",
  version: 1,
  title: "Job",
  members: {
    ...coreMembers("svc/jobs/1"),
    title: text(200, "Title of the job."),
    description: longText(2_000, "What the job is."),
    category: code(taxonomyList("job_categories"), "Field of work."),
    employment_type: code(taxonomyList("employment_types"), "Kind of employment."),
    work_arrangement: code(taxonomyList("work_arrangements"), "Where the work is done."),
    salary: optional(salary),
    closing_date: optional(timestamp("When applications close.")),
    city: optional(text(100, "City.", "place")),
    region: optional(form(subdivisionForm, "ISO 3166-2 subdivision.")),
    geo: optional(geopoint("Where the work place is.")),
    job_url: optional(form(httpsUrlForm, "Page of the job.")),
    apply_url: optional(form(httpsUrlForm, "Where to apply.")),
  },
  rules: [salaryInOrder],
} satisfies RecordType;

function salaryInOrder({ salary: offered }: JsonObject, faults: FaultList): void {
  if (!isObject(offered)) return;
  const { min, max } = offered;
  if (typeof min !== "string" || typeof max !== "string" || !isDecimal(min) || !isDecimal(max)) return;
  if (millionthsOf(max) < millionthsOf(min))
    faults.add("value_invalid", "/salary/max", "Must not be less than min.");
}

// svc/events/1. The members follow from what the specification filters and sorts («Filter fields»).

const events = {
  collection: "events",
  version: 1,
  title: "Event",
  members: {
    ...coreMembers("svc/events/1"),
    title: text(200, "Name of the event."),
    description: longText(2_000, "What happens."),
    event_type: code(taxonomyList("event_types"), "Kind of event."),
    attendance_mode: code(taxonomyList("attendance_modes"), "How it is attended."),
    start_at: timestamp("When it begins."),
    end_at: timestamp("When it ends."),
    timezone: code(timeZones, "Time zone of the place, in which the times are to be shown."),
    venue: optional(text(200, "Name of the venue.", "place")),
    address: optional(text(200, "Street address.", "place")),
    city: optional(text(100, "City.", "place")),
    region: optional(form(subdivisionForm, "ISO 3166-2 subdivision.")),
    geo: optional(geopoint("Where it is.")),
    ticketed: boolean("Whether a ticket is needed."),
    price_min: optional(money("Lowest ticket price.")),
    price_max: optional(money("Highest ticket price.")),
    price_currency: optional(code(currencies, "Currency of both prices.")),
    age_restriction: optional(code(taxonomyList("age_restrictions"), "Who is admitted.")),
    event_url: optional(form(httpsUrlForm, "Page of the event.")),
  },
  rules: [
    endsAfterItStarts,
    pricesInOrder({ min: "price_min", max: "price_max", currency: "price_currency" }),
  ],
} satisfies RecordType;

function endsAfterItStarts({ start_at: start, end_at: end }: JsonObject, faults: FaultList): void {
  if (typeof start !== "string" || typeof end !== "string") return;
  const [startMs, endMs] = [parseTimestamp(start), parseTimestamp(end)];
  if (startMs !== null && endMs !== null && endMs < startMs) {
    faults.add("value_invalid", "/end_at", "Must not be before start_at.");
  }
}

/** Requires both amounts or neither, the lower one first, together with a currency. */
function pricesInOrder(names: { readonly min: string; readonly max: string; readonly currency: string }) {
  return (record: JsonObject, faults: FaultList): void => {
    const [min, max, currency] = [record[names.min], record[names.max], record[names.currency]];
    if ((min === undefined) !== (max === undefined)) {
      const missing = min === undefined ? names.min : names.max;
      faults.add("member_missing", `/${missing}`, `${names.min} and ${names.max} go together.`);
    }
    if ((min !== undefined || max !== undefined) && currency === undefined) {
      faults.add("member_missing", `/${names.currency}`, `${names.currency} is required with a price.`);
    }
    if (
      typeof min === "string" &&
      typeof max === "string" &&
      isDecimal(min) &&
      isDecimal(max) &&
      millionthsOf(max) < millionthsOf(min)
    ) {
      faults.add("value_invalid", `/${names.max}`, `Must not be less than ${names.min}.`);
    }
  };
}

// Reading a record of any type.

const declared = {
  products,
  business_files: businessFiles,
  events,
  jobs,
  updates,
  ads,
};

/** The existing record types, by collection, and that of ads. */
export const recordTypes: Readonly<Record<ShownType, RecordType>> = declared;

/** A record of a type, with every member that it may have. */
export type RecordOf<T extends ShownType> = ValuesOf<(typeof declared)[T]["members"]>;

/** A record whose members have all been checked. */
export type ParsedRecord = JsonObject & RecordCore;
export type ParsedProduct = JsonObject & ProductRecord;

export type ParsedAd = JsonObject & AdRecord;

export type RecordOutcome<T extends JsonObject = ParsedRecord> =
  | { readonly ok: true; readonly record: T }
  | {
      readonly ok: false;
      readonly faults: readonly RecordFault[];
      /** What was read, for the checks that follow, with members of any kind; null when it is not a JSON object. */
      readonly read: JsonObject | null;
    };

/** The deepest record type has four levels; anything deeper than this is not read. */
const recordDepthMax = 8;

const checks = new Map<ShownType, Check>();

/**
 * Reads the bytes of a record of `collection` and returns it, or all its faults at once: strict JSON first, then the
 * members, then the rules between members. It does not judge the record's content (judge-record.ts).
 */
export function parseRecord(collection: "products", bytes: Uint8Array): RecordOutcome<ParsedProduct>;
export function parseRecord(collection: "ads", bytes: Uint8Array): RecordOutcome<ParsedAd>;
export function parseRecord(collection: CollectionName, bytes: Uint8Array): RecordOutcome;
export function parseRecord(collection: ShownType, bytes: Uint8Array): RecordOutcome<JsonObject>;
export function parseRecord(collection: ShownType, bytes: Uint8Array): RecordOutcome<JsonObject> {
  return atOnce(parsingRecord(collection, bytes));
}

/** The members of a longer record are checked in a step of their own. */
const stepBytes = 16_384;

/** The same in steps. */
export function* parsingRecord(
  collection: ShownType,
  bytes: Uint8Array,
): Generator<void, RecordOutcome<JsonObject>> {
  const parsed = yield* parsingStrictJson(bytes, { depthMax: recordDepthMax });
  if (!parsed.ok)
    return {
      ok: false,
      faults: [{ code: parsed.code, pointer: parsed.pointer ?? "", detail: parsed.detail }],
      read: null,
    };
  if (bytes.length > stepBytes) yield;
  const faults = new FaultList();
  checkOf(collection)(parsed.value, "", faults);
  const read = isObject(parsed.value) ? parsed.value : null;
  if (read !== null) for (const rule of recordTypes[collection].rules) rule(read, faults);
  return faults.faults.length === 0
    ? { ok: true, record: parsed.value as JsonObject }
    : { ok: false, faults: faults.faults, read };
}

/** The record in bytes that {@link parsingRecord} accepted before. */
export function* readingRecord(bytes: Uint8Array): Generator<void, JsonObject> {
  const parsed = yield* parsingStrictJson(bytes, { depthMax: recordDepthMax });
  if (!parsed.ok || !isObject(parsed.value)) throw new Error("A record that was accepted cannot be read.");
  return parsed.value;
}

/** `svc/<collection>/<version>` of the records that are currently accepted. */
export function recordSchema(collection: ShownType): string {
  return `svc/${collection}/${recordTypes[collection].version}`;
}

function checkOf(collection: ShownType): Check {
  const known = checks.get(collection);
  if (known !== undefined) return known;
  const check = membersCheck(recordTypes[collection].members);
  checks.set(collection, check);
  return check;
}

// JSON Schema (2020-12) of the record types, for OpenAPI and for the businesses' own tools. It requires no more than the
// validator does; what JSON Schema cannot express (check digits, rules between members) only the validator checks.

/** The schema of one record type. */
export function recordJsonSchema(collection: ShownType): JsonObject {
  const type = recordTypes[collection];
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: `urn:svc:record:${collection}:${type.version}`,
    title: type.title,
    ...objectSchema(type.members),
  };
}

/** The shape of a record's field as it appears in an answer. */
export function fieldShape(field: Field): Shape<JsonValue> {
  const check = fieldCheck(field);
  return {
    schema: fieldSchema(field),
    judge: (value, pointer, tell) => {
      const { faults } = judged((list) => check(value, pointer, list));
      return faults.every(tell);
    },
    ...(field.optional === true ? { absentAllowed: true } : {}),
  };
}

function judged(check: (faults: FaultList) => void): FaultList {
  const faults = new FaultList();
  check(faults);
  return faults;
}

/** Any of the five record types, distinguished by its schema. */
export const recordShape = either(...collectionNames.map(recordShapeOf));

function recordShapeOf(collection: ShownType): Shape<JsonObject> {
  const { members, title } = recordTypes[collection];
  const shape = fieldShape({ kind: "object", members, description: title }) as Shape<JsonObject>;
  return named(`${pascalCase(collection)}Record`, shape);
}

function objectSchema(members: Members): JsonObject {
  const names = Object.keys(members);
  return {
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, fieldSchema(members[name] as Field)])),
    required: names.filter((name) => members[name]?.optional !== true),
    additionalProperties: false,
  };
}

function fieldSchema(field: Field): JsonObject {
  return { ...typeSchema(field), description: field.description };
}

/** Not only white space, and no control characters. */
function textPattern({ multiline, mayBeEmpty = false }: Extract<Field, { kind: "text" }>): string {
  if (!multiline) return "^(?=.*\\S)[^\\u0000-\\u001f\\u007f-\\u009f]*$";
  const written = "(?=[\\s\\S]*\\S)[^\\u0000-\\u0009\\u000b-\\u001f\\u007f-\\u009f]*";
  return mayBeEmpty ? `^(?:${written})?$` : `^${written}$`;
}

function typeSchema(field: Field): Readonly<Record<string, JsonValue>> {
  switch (field.kind) {
    case "schema":
      return { type: "string", const: field.value };
    case "text":
      return { type: "string", maxLength: field.max, pattern: textPattern(field) };
    case "form":
      return { type: "string", maxLength: field.form.max, pattern: field.form.pattern };
    case "code":
      return { type: "string", enum: [...field.list.codes] };
    case "money":
      return { type: "string", pattern: "^(0|[1-9][0-9]{0,14})(\\.[0-9]{1,6})?$" };
    case "integer":
      return { type: "integer", minimum: field.min, maximum: field.max };
    case "number":
      return { type: "number", minimum: field.min, maximum: field.max };
    case "boolean":
      return { type: "boolean" };
    case "timestamp":
      return {
        type: "string",
        format: "date-time",
        pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$",
      };
    case "array":
      return {
        type: "array",
        items: fieldSchema(field.items),
        minItems: field.min,
        maxItems: field.max,
        uniqueItems: field.unique,
      };
    case "object":
      return objectSchema(field.members);
  }
}
