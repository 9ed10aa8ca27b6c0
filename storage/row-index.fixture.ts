// Random rows and queries for the conformance suite. Values come from small pools, so that ties, repeated values and
// absent fields are common; places are well away from the edge of every circle, where engines may round differently. A row
// expresses a value in its own form (an instant as text or in seconds), and a query uses the index's form.

import fc from "fast-check";
import { collections } from "../collections/collections.ts";
import {
  type CollectionDefinition,
  type FilterField,
  indexField,
  type Operator,
  textMatchKey,
} from "../collections/definition.ts";
import { distanceKm } from "../collections/geo-distance.ts";
import { queryWords } from "../collections/text-analysis.ts";
import { type CollectionName, formatTimestamp, recordIdOf } from "../protocol/identifiers.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import type { GeoPoint, IndexValue, QueryWord, RowChange, RowClause, RowQuery } from "./row-index.ts";

export const countries = ["US", "CA", "FR"] as const;
const keywords = [
  "a",
  "b",
  "A",
  "a b",
  "é",
  "e\u0301",
  "日本",
  "%",
  "_",
  "x\u001fy",
  "x",
  "y",
  "\u001e0",
  "'",
  '"',
  "*",
];
const numbers = [0, 1, 1.5, 2, 2.5, 10, 1_767_225_600_000, 1_767_225_600_001];
const instants = [0, 1, 2, 10, 1_767_225_600_000, 1_767_225_600_001];
const seconds = [0, 1, 1.5, 2, 10, 1_767_225_600];
const words = ["red", "blue", "shoe", "日本", "日本語", "x1", "or", "and", "not", "near", "é", "жук"];
/** Words of which one is within an edit of another, of its plural or of its singular, or nearly so. */
const similar = [
  "bread",
  "breads",
  "broad",
  "beard",
  "jewellers",
  "potato",
  "potatoes",
  "абвгд",
  "loaf",
  "loaves",
];
const misspelt = ["braed", "breadd", "roads", "jeweler", "potatos", "bgead", "абвдг", "loavez", "absent"];
const places: readonly GeoPoint[] = [
  { lat: 53.8, lng: -1.55 },
  { lat: 53.96, lng: -1.08 },
  { lat: 51.5, lng: -0.12 },
  { lat: -17, lng: 179.9 },
  { lat: -17, lng: -179.9 },
  { lat: 89.9, lng: 10 },
  { lat: 0, lng: 0 },
  { lat: 0, lng: 180 },
];
const radii = [1, 30, 50, 300, 1_000, 9_000, 20_038].filter((radius) =>
  places.every((a) => places.every((b) => Math.abs(distanceKm(a, b) - radius) > 0.5)),
);

const businesses = ["0", "1", "2", "3"].map((digit) => `${digit.repeat(8)}-0000-4000-8000-000000000000`);

/** The words of a query that is written as these. */
export function wordsOf(...written: readonly string[]): readonly QueryWord[] {
  return queryWords(written.join(" "));
}

/** The id of the n-th record of a collection; the same `space` gives the same ids. */
export function recordIdFor(collection: CollectionName, space: number, n: number): string {
  const seed = new Uint8Array(20);
  new DataView(seed.buffer).setUint32(0, Math.imul(n + 1, 0x9e3779b1) ^ space);
  seed[6] = n;
  return recordIdOf(collection, seed);
}

/** The operand that a query compares a field with, in the index's form. */
function operandOf(field: FilterField): fc.Arbitrary<IndexValue> {
  if (field.type === "boolean") return fc.boolean();
  return field.type === "keyword" ? fc.constantFrom(...keywords) : numberOf(field);
}

function numberOf(field: FilterField): fc.Arbitrary<number> {
  if (field.name === "published_at") return fc.constantFrom(...seconds.map((each) => each * 1_000));
  return fc.constantFrom(...(field.type === "timestamp" ? instants : numbers));
}

/** The value of a field in a row. */
function memberOf(field: FilterField): fc.Arbitrary<JsonValue> {
  if (field.name === "published_at") return fc.constantFrom(...seconds);
  if (field.type === "timestamp") return fc.constantFrom(...instants.map(formatTimestamp));
  return operandOf(field);
}

/** Rows of a collection, without the members that are the same in all. */
function rowOf(definition: CollectionDefinition): fc.Arbitrary<JsonObject> {
  const plain = definition.fields.filter(
    (field) => field.isOnRows && field.type !== "country" && field.type !== "geopoint",
  );
  const pointFields = definition.fields.filter((field) => field.type === "geopoint");
  const fields = Object.fromEntries(
    plain.flatMap((field): [string, fc.Arbitrary<JsonValue>][] => {
      const one = memberOf(field);
      if (field.multiple) return [[field.name, fc.uniqueArray(one, { minLength: 1, maxLength: 3 })]];
      return field.countryStem === null
        ? [[field.name, one]]
        : countries.map((country) => [indexField(field, country), one]);
    }),
  );
  const points = pointFields.map((field): [string, fc.Arbitrary<JsonValue>] => {
    const place = fc.constantFrom(...places).map(({ lat, lng }): JsonObject => ({ lat, lng }));
    return [field.name, field.multiple ? fc.array(place, { minLength: 1, maxLength: 3 }) : place];
  });
  const text = fc
    .array(fc.constantFrom(...words, ...similar), { minLength: 1, maxLength: 6 })
    .map((some) => some.join(" "));
  const texts = definition.textFields.map((name): [string, fc.Arbitrary<JsonValue>] => {
    const filtered = fields[name];
    if (filtered === undefined) return [name, text];
    // A text that can also be filtered by.
    const isMany = plain.some((field) => field.name === name && field.multiple);
    return [name, fc.oneof(filtered, isMany ? fc.array(text, { minLength: 1, maxLength: 3 }) : text)];
  });
  const members = { ...fields, ...Object.fromEntries([...points, ...texts]) };
  return fc
    .tuple(
      fc.subarray([...countries], { minLength: 1 }),
      fc.record(members, { requiredKeys: [] }) as fc.Arbitrary<JsonObject>,
    )
    .map(([published, some]) => ({ ...some, countries: published }));
}

/** The put with other members in its row; undefined removes a member. */
export function withMembers(
  change: RowChange,
  members: Readonly<Record<string, JsonValue | undefined>>,
): RowChange {
  if (change.kind === "remove") return change;
  return { ...change, row: JSON.stringify({ ...(JSON.parse(change.row) as JsonObject), ...members }) };
}

/** Puts and removals of a few records, in random order of their change numbers. */
export function changesOf(
  collection: CollectionName,
  space: number,
  records: number,
): fc.Arbitrary<readonly RowChange[]> {
  const common = { record: fc.nat(records - 1), change: fc.integer({ min: 1, max: 6 }) };
  const put = fc
    .record({
      ...common,
      business_uuid: fc.constantFrom(...businesses),
      note: fc.string({ unit: "grapheme", maxLength: 10 }),
      members: rowOf(collections[collection]),
    })
    .map(({ record, change, business_uuid, note, members }): RowChange => {
      const record_id = recordIdFor(collection, space, record);
      const row = JSON.stringify({ ...members, record_id, change, note });
      return { kind: "put", collection, record_id, business_uuid, generation: change, change, row };
    });
  const remove = fc.record(common).map(
    ({ record, change }): RowChange => ({
      kind: "remove",
      collection,
      record_id: recordIdFor(collection, space, record),
      change,
    }),
  );
  return fc.array(fc.oneof({ weight: 6, arbitrary: put }, { weight: 1, arbitrary: remove }), {
    minLength: records,
    maxLength: records * 3,
  });
}

function clauseOf(field: FilterField, op: Operator, country: string): fc.Arbitrary<RowClause> {
  const name = indexField(field, country);
  switch (op) {
    case "eq":
    case "ne":
      return operandOf(field).map((value) => ({ field: name, op, value }));
    case "in":
    case "nin":
      return fc
        .array(operandOf(field), { minLength: 1, maxLength: 4 })
        .map((values) => ({ field: name, op, values }));
    case "near":
      return fc
        .record({ point: fc.constantFrom(...places), radiusKm: fc.constantFrom(...radii) })
        .map((circle) => ({ field: name, op, ...circle }));
    default:
      return numberOf(field).map((value) => ({ field: name, op, value }));
  }
}

/** Most records that a random clause names, and one more than the number of the last. */
const namedMax = 60;

/** Every clause that a query of the collection can have, with random operands; the space is that of the records. */
export function clausesOf(
  collection: CollectionName,
  { country, space }: { readonly country: string; readonly space: number },
): readonly fc.Arbitrary<RowClause>[] {
  const records = fc
    .uniqueArray(fc.nat(namedMax - 1), { maxLength: namedMax, size: "max" })
    .map((numbers) => numbers.map((n) => recordIdFor(collection, space, n)));
  const named = (["among", "except"] as const).map((op) => records.map((some) => ({ op, records: some })));
  return collections[collection].fields
    .filter((field) => field.type !== "country" && field.isOnRows)
    .flatMap((field) => field.operators.map((op) => clauseOf(field, op, country)))
    .concat(named);
}

/** Any query that collections/ can build, sometimes by relevance. */
export function queryOf(collection: CollectionName, space: number): fc.Arbitrary<RowQuery> {
  const definition = collections[collection];
  return fc.constantFrom(...countries).chain((country) => {
    const keys = definition.fields.filter((field) => definition.sortKeys.includes(field.name));
    const direction = fc.constantFrom("asc" as const, "desc" as const);
    const sortKey = fc.constantFrom(...keys).map((field) => indexField(field, country));
    const text = fc.record({
      words: fc
        .uniqueArray(fc.constantFrom(...words, ...similar, ...misspelt), { minLength: 1, maxLength: 3 })
        .map((some) => wordsOf(...some)),
      fields: fc.subarray([...definition.textFields], { minLength: 1 }),
    });
    return fc
      .record({
        clauses: fc.array(fc.oneof(...clausesOf(collection, { country, space })), { maxLength: 3 }),
        sort: fc.uniqueArray(fc.record({ field: sortKey, direction }), {
          minLength: 1,
          maxLength: 3,
          selector: (each) => each.field,
        }),
        limit: fc.oneof(fc.constant(50), fc.integer({ min: 1, max: 5 })),
        excludeBusinesses: fc.oneof(
          { weight: 3, arbitrary: fc.constant([]) },
          { weight: 1, arbitrary: fc.subarray(businesses) },
        ),
        text: fc.option(text, { nil: undefined, freq: 2 }),
        relevance: fc.option(direction, { nil: null, freq: 2 }),
      })
      .map(({ text: searched, relevance, sort, ...rest }): RowQuery => {
        const query = { ...rest, collection, country, sort };
        if (searched === undefined) return query;
        if (relevance === null) return { ...query, text: searched };
        return {
          ...query,
          text: searched,
          sort: [{ field: textMatchKey, direction: relevance }, ...sort.slice(0, 2)],
        };
      });
  });
}
