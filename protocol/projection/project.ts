// The interpreter of projection specifications. The service builds rows with it and the verifier rebuilds them; both apply
// the same few rules to a record.

import { madeOnce } from "../../std/bounded-map.ts";
import { hashOf, type Sha256 } from "../bytes.ts";
import { type CollectionName, isDecimal, type ShownType } from "../identifiers.ts";
import { canonicalBytes, type JsonObject, type JsonValue } from "../json/canonical-json.ts";
import { serveTimeMembers } from "../row.ts";

export interface ProjectionInput {
  /** The record, parsed from its exact bytes. */
  readonly record: JsonObject;
  readonly recordId: string;
  readonly businessUuid: string;
  /** `sha256:<hex>` of the exact record bytes. */
  readonly hash: string;
  /** The `cert_id` that the record was sealed under. */
  readonly certId: string;
  /** key_id of the projection key that will sign the row. */
  readonly keyId: string;
  /** Unix seconds. */
  readonly publishedAt: number;
  readonly aiPolicyVersion: number;
  /** The envelope of the seal over the record, for the projections that show it. */
  readonly seal?: JsonValue;
}

/**
 * A row without its signature and serve-time members: exactly what the row signature covers. Its members are in canonical
 * order at every depth, so that {@link projectedRowText} need not sort them.
 */
export type ProjectedRow = JsonObject;

type Row = Record<string, JsonValue>;
type Step = (row: Row, input: ProjectionInput) => void;

/** Projects a record by the specification currently in force for its collection. */
export function projectRecord(
  input: ProjectionInput & { readonly collection: CollectionName },
): ProjectedRow {
  return project(currentProjection(input.collection), input);
}

/** Projects an ad by the specification currently in force. */
export function projectAd(input: ProjectionInput & { readonly seal: JsonValue }): ProjectedRow {
  return project(currentProjection("ads"), input);
}

/**
 * Runs a specification. A member is left out when its source is absent or is not of the kind that the rule converts; in a
 * record that passed `parseRecord`, only optional sources can be.
 */
export function project(specification: ProjectionSpecification, input: ProjectionInput): ProjectedRow {
  const row: Row = {};
  for (const step of stepsOf(specification)) step(row, input);
  return row;
}

/** The RFC 8785 text of a projected row: the same as `rowSigningText` returns, but faster. */
export function projectedRowText(row: ProjectedRow): string {
  // For members in canonical order and well-formed strings, JSON.stringify writes what RFC 8785 §3.2 prescribes.
  return JSON.stringify(row);
}

const stepsOf = madeOnce((specification: ProjectionSpecification): readonly Step[] => {
  const inOrder = specification.rules.toSorted((a, b) => (a.member < b.member ? -1 : 1));
  return inOrder.map((rule) => stepOf(rule, specification));
});

function stepOf(rule: ProjectionRule, specification: ProjectionSpecification): Step {
  if (rule.rule === "by_country") return byCountryStep(rule);
  const value = sourceOf(rule, specification);
  const { member } = rule;
  return (row, input) => {
    const found = value(input);
    if (found !== undefined) row[member] = found;
  };
}

type Single = Exclude<ProjectionRule, { readonly rule: "by_country" }>;

function sourceOf(
  rule: Single,
  specification: ProjectionSpecification,
): (input: ProjectionInput) => JsonValue | undefined {
  switch (rule.rule) {
    case "fact":
      return factOf(rule.member, specification);
    case "seal":
      return ({ seal }) => ordered(seal);
    case "constant":
      return () => rule.value;
    case "copy_each": {
      const [read, readEach] = [reader(rule.from), reader(rule.each)];
      return ({ record }) => eachOf(read(record), readEach);
    }
    case "copy": {
      const read = reader(rule.from);
      return ({ record }) => ordered(read(record));
    }
    case "number": {
      const read = reader(rule.from);
      return ({ record }) => numberOf(read(record));
    }
    case "is_present": {
      const read = reader(rule.from);
      return ({ record }) => read(record) !== undefined;
    }
    case "is_not_empty": {
      const read = reader(rule.from);
      return ({ record }) => {
        const items = read(record);
        return Array.isArray(items) && items.length > 0;
      };
    }
  }
}

function factOf(
  name: FactName,
  { version, record_type: type }: ProjectionSpecification,
): (input: ProjectionInput) => JsonValue {
  const facts: Readonly<Record<FactName, (input: ProjectionInput) => JsonValue>> = {
    record_id: ({ recordId }) => recordId,
    business_uuid: ({ businessUuid }) => businessUuid,
    type: () => type,
    published_at: ({ publishedAt }) => publishedAt,
    adl_origin: ({ hash }) => hash,
    adl_origin_cert: ({ certId }) => certId,
    adl_proj: () => version,
    adl_key_id: ({ keyId }) => keyId,
    ai_policy_version: ({ aiPolicyVersion }) => aiPolicyVersion,
  };
  return facts[name];
}

function byCountryStep(rule: Extract<ProjectionRule, { readonly rule: "by_country" }>): Step {
  const [read, readCountry, readEach] = [reader(rule.from), reader(rule.country), reader(rule.each)];
  const stem = rule.member.slice(0, -"<CC>".length);
  return (row, { record }) => {
    const [items, published] = [read(record), record["countries"]];
    if (!Array.isArray(items) || !Array.isArray(published)) return;
    const found: (readonly [country: string, value: JsonValue])[] = [];
    for (const item of items as readonly JsonValue[]) {
      const country = readCountry(item);
      const value = rule.as === "number" ? numberOf(readEach(item)) : readEach(item);
      if (typeof country === "string" && value !== undefined && published.includes(country))
        found.push([country, value]);
    }
    if (found.length > 1) found.sort((a, b) => (a[0] < b[0] ? -1 : 1));
    for (const [country, value] of found) row[stem + country] = value;
  };
}

/** Returns the value with the members of its objects in canonical order. */
function ordered(value: JsonValue): JsonValue;
function ordered(value: JsonValue | undefined): JsonValue | undefined;
function ordered(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value as readonly JsonValue[];
    return items.some((item) => typeof item === "object") ? items.map((item) => ordered(item)) : items;
  }
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, ordered((value as JsonObject)[name] as JsonValue)]));
}

/** The distinct values in order, compared by their JSON text. */
function eachOf(items: JsonValue | undefined, read: Reader): JsonValue | undefined {
  if (!Array.isArray(items)) return undefined;
  const values = new Map<string, JsonValue>();
  for (const item of items as readonly JsonValue[]) {
    const value = read(item);
    if (value === undefined) continue;
    const inOrder = ordered(value);
    const key = JSON.stringify(inOrder);
    if (!values.has(key)) values.set(key, inOrder);
  }
  return [...values.values()];
}

function numberOf(value: JsonValue | undefined): number | undefined {
  return typeof value === "string" && isDecimal(value) ? Number(value) : undefined;
}

type Reader = (value: JsonValue) => JsonValue | undefined;

/** Returns a reader that follows an RFC 6901 pointer through objects; it yields undefined where nothing is found. */
function reader(pointer: string): Reader {
  const path = pointer.split("/").slice(1);
  const [only] = path;
  if (only !== undefined && path.length === 1) return (value) => memberOf(value, only);
  return (value) => {
    let found: JsonValue | undefined = value;
    for (const name of path) found = found === undefined ? undefined : memberOf(found, name);
    return found;
  };
}

function memberOf(value: JsonValue, name: string): JsonValue | undefined {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as JsonObject)[name];
}

// Projection specifications: data that describes how a record becomes a search row (specification, «Projection
// specification»). What is published under GET /v1/projections/{type}/{version} is exactly what this file interprets, so
// that anyone can rerun it. A published version never changes: its hash is pinned in project.test.ts.

/** Version of the rule language defined below. */
export const projectionLanguage = 1;

/** What the service states about a published version in addition to the record itself. */
const factNames = [
  "record_id",
  "business_uuid",
  "type",
  "published_at",
  "adl_origin",
  "adl_origin_cert",
  "adl_proj",
  "adl_key_id",
  "ai_policy_version",
] as const;

export type FactName = (typeof factNames)[number];

/** How one row member is produced. `from` and `each` are RFC 6901 pointers; a member whose source is absent is left out. */
export type ProjectionRule =
  | { readonly member: FactName; readonly rule: "fact" }
  | { readonly member: string; readonly rule: "seal" }
  | { readonly member: string; readonly rule: "copy"; readonly from: string }
  | { readonly member: string; readonly rule: "copy_each"; readonly from: string; readonly each: string }
  | { readonly member: string; readonly rule: "number"; readonly from: string }
  | { readonly member: string; readonly rule: "is_present"; readonly from: string }
  | { readonly member: string; readonly rule: "is_not_empty"; readonly from: string }
  | { readonly member: string; readonly rule: "constant"; readonly value: string | number | boolean }
  | {
      /** A name ending in `<CC>`, which stands for the country code. */
      readonly member: string;
      readonly rule: "by_country";
      readonly from: string;
      readonly country: string;
      readonly each: string;
      readonly as: "number" | "text";
    };

export interface ProjectionSpecification {
  /** Written as `<type>/<n>`. */
  readonly version: string;
  readonly record_type: ShownType;
  /** Schema of the records that the specification projects. */
  readonly record_schema: string;
  readonly rules: readonly ProjectionRule[];
}

/** Row members that the row signature does not cover because they carry it. */
export const unsignedFields = ["adl_row_sig"] as const;

const meanings: Readonly<Record<ProjectionRule["rule"], string>> = {
  fact: "The value of this name that the service states of the published version: record_id; business_uuid; type, the record_type; published_at in Unix seconds; adl_origin, sha256 of the exact record bytes; adl_origin_cert, the cert_id of the seal; adl_proj, this version; adl_key_id, the key that signs the row; ai_policy_version of the seal.",
  seal: "The envelope of the seal over the record, which was sealed alone, unchanged.",
  copy: "The JSON value at `from` in the record, unchanged. Absent where the record has none.",
  copy_each:
    "An array of the values at `each` in the items of the array at `from`, in order; items without it are passed over and a value equal to an earlier one is left out. Absent where the record has no array at `from`.",
  number: "The decimal string at `from` as the nearest IEEE 754 double. Absent where the record has none.",
  is_present: "true where the record has a value at `from`, else false.",
  is_not_empty: "true where the record has at least one item in the array at `from`, else false.",
  constant: "`value`.",
  by_country:
    "For each item of the array at `from` whose `country` is one of the record's /countries: the member whose name has that country in place of <CC>, with the item's value at `each`, a decimal string turned into the nearest IEEE 754 double where `as` is number.",
};

/** The document of a specification as it is published. */
function specificationDocument(specification: ProjectionSpecification, sha256?: Sha256): JsonObject {
  const { version, record_type: recordType, record_schema: recordSchema, rules } = specification;
  const unhashed = {
    version,
    spec_version: projectionLanguage,
    record_type: recordType,
    field_map: Object.fromEntries(rules.map((rule) => [rule.member, sourceText(rule)])),
    rules: rules,
    unsigned_fields: unsignedFields,
    serve_time_fields: serveTimeMembers,
    definition: {
      record_schema: recordSchema,
      rules: Object.fromEntries(rules.map(({ rule }) => [rule, meanings[rule]])),
      row: "The members that the rules give. No other member exists but the unsigned and the serve-time ones.",
      signature:
        "adl_row_sig is the Ed25519 signature, in base64, by the key adl_key_id over the RFC 8785 form of the row without the members of unsigned_fields and serve_time_fields.",
      sha256: "SHA-256 of the RFC 8785 form of this document without its member sha256.",
    },
  };
  return { ...unhashed, sha256: hashOf(canonicalBytes(unhashed), sha256) };
}

/** A short name for a member's source: a pointer into the record, the name of a fact, or the constant itself. */
function sourceText(rule: ProjectionRule): string {
  switch (rule.rule) {
    case "fact":
      return rule.member;
    case "seal":
      return "seal";
    case "constant":
      return JSON.stringify(rule.value);
    case "copy_each":
    case "by_country":
      return `${rule.from}/*${rule.each}`;
    default:
      return rule.from;
  }
}

// Every projection that rows may name, by version. A correction is a new version; published ones are never edited.

const common = [
  ...factNames.map((member) => ({ member, rule: "fact" }) as const),
  copy("countries"),
  copy("language"),
] as const;

const specifications = [
  specification("products", 1, [
    copy("product_name"),
    copy("short_description"),
    copy("tags"),
    copy("brand"),
    copy("vertical"),
    copy("category"),
    copy("channel"),
    copy("availability"),
    copy("on_sale"),
    copy("gtin"),
    {
      member: "price_<CC>",
      rule: "by_country",
      from: "/prices",
      country: "/country",
      each: "/amount",
      as: "number",
    },
    {
      member: "price_currency_<CC>",
      rule: "by_country",
      from: "/prices",
      country: "/country",
      each: "/currency",
      as: "text",
    },
  ]),
  // Neither the five «represent us» texts nor the endpoints ever appear on a row (specification, «Search row»).
  specification("business_files", 1, [
    copy("business_name"),
    copy("description"),
    { member: "brands_owned.name", rule: "copy_each", from: "/brands_owned", each: "/name" },
    { member: "brands_sold.name", rule: "copy_each", from: "/brands_sold", each: "/name" },
    copy("markets_served"),
    { member: "has_locations", rule: "is_not_empty", from: "/locations" },
    { member: "location_geo", rule: "copy_each", from: "/locations", each: "/geo" },
    { member: "cities", rule: "copy_each", from: "/locations", each: "/city" },
    copy("delivery.options", "/delivery/options"),
    copy("ships_internationally"),
    copy("payment.methods", "/payment/methods"),
    { member: "has_booking", rule: "constant", value: false },
    copy("year_established"),
  ]),
  specification("events", 1, [
    copy("title"),
    copy("description"),
    copy("event_type"),
    copy("attendance_mode"),
    copy("start_at"),
    copy("end_at"),
    copy("timezone"),
    copy("region"),
    copy("city"),
    copy("geo"),
    copy("ticketed"),
    number("price_min"),
    number("price_max"),
    copy("price_currency"),
    copy("age_restriction"),
  ]),
  specification("jobs", 1, [
    copy("title"),
    copy("description"),
    copy("category"),
    copy("employment_type"),
    copy("work_arrangement"),
    { member: "salary_disclosed", rule: "is_present", from: "/salary" },
    number("salary_min", "/salary/min"),
    number("salary_max", "/salary/max"),
    copy("salary_currency", "/salary/currency"),
    copy("salary_period", "/salary/period"),
    copy("closing_date"),
    copy("region"),
    copy("city"),
    copy("geo"),
  ]),
  specification("updates", 1, [copy("headline"), copy("body"), copy("update_type"), copy("relevant_until")]),
  // Neither the business's own ids nor what is written about the pictures appear on a row; an ad's item has its record.
  specification("ads", 1, [
    copy("headline"),
    copy("body"),
    copy("call_to_action"),
    copy("display_domain"),
    copy("keywords"),
    copy("subdivisions"),
    copy("adl_dest", "/destination_url"),
    { member: "adl_creative", rule: "copy_each", from: "/images", each: "/sha256" },
    { member: "adl_origin_seal", rule: "seal" },
  ]),
] as const satisfies readonly ProjectionSpecification[];

/** The rules by which the rows of a collection, or of ads, are built. */
export type RulesOf<T extends ShownType> = Extract<
  (typeof specifications)[number],
  { readonly record_type: T }
>["rules"][number];

const byName: ReadonlyMap<string, ProjectionSpecification> = new Map(
  specifications.map((each) => [each.version, each]),
);
const documents = new Map<string, JsonObject>();

/** The specification of a version `<type>/<n>`; null for an unknown version, which is refused and never guessed. */
export function projectionByName(name: string): ProjectionSpecification | null {
  return byName.get(name) ?? null;
}

/** The specification currently used to build the rows of a collection, or of ads. */
export function currentProjection(collection: ShownType): ProjectionSpecification {
  const current = specifications.findLast((each) => each.record_type === collection);
  if (current === undefined) throw new Error(`No projection of ${collection}`);
  return current;
}

/** The document of GET /v1/projections/{type}/{version}; null when it does not exist. */
export function projectionDocument(type: string, version: number): JsonObject | null {
  const name = `${type}/${version}`;
  const known = documents.get(name);
  const specificationFound = byName.get(name);
  if (known !== undefined || specificationFound === undefined) return known ?? null;
  const document = specificationDocument(specificationFound);
  documents.set(name, document);
  return document;
}

function specification<const T extends ShownType, const R extends readonly ProjectionRule[]>(
  collection: T,
  version: number,
  rules: R,
) {
  return {
    version: `${collection}/${version}`,
    record_type: collection,
    record_schema: `svc/${collection}/${version}`,
    rules: [...common, ...rules],
  } as const;
}

function copy<const M extends string, const P extends readonly [string?]>(member: M, ...from: P) {
  return { member, rule: "copy", from: sourcePointer(member, from) } as const;
}

function number<const M extends string, const P extends readonly [string?]>(member: M, ...from: P) {
  return { member, rule: "number", from: sourcePointer(member, from) } as const;
}

/** The pointer that is given, or that to the member itself. */
function sourcePointer<M extends string, P extends readonly [string?]>(member: M, [from]: P) {
  return (from ?? `/${member}`) as P extends readonly [infer F extends string] ? F : `/${M}`;
}
