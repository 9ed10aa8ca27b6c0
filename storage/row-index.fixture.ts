// Random rows and queries for the conformance suite. Values come from small pools, so that ties, repeated values and
// absent fields are common; places lie clear of every circle's rim, where engines may round differently.

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
import { type CollectionName, recordIdOf } from "../protocol/identifiers.ts";
import type { GeoPoint, IndexDocument, IndexValue, RowChange, RowClause, RowQuery } from "./row-index.ts";

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
const terms = ["red", "blue", "shoe", "日本", "本語", "x1", "or", "and", "not", "near", "é"];
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

/** The id of the n-th record of a collection; the same `space` gives the same ids. */
export function recordIdFor(collection: CollectionName, space: number, n: number): string {
  const seed = new Uint8Array(20);
  new DataView(seed.buffer).setUint32(0, Math.imul(n + 1, 0x9e3779b1) ^ space);
  seed[6] = n;
  return recordIdOf(collection, seed);
}

function operandOf(field: FilterField): fc.Arbitrary<IndexValue> {
  if (field.type === "boolean") return fc.boolean();
  return field.type === "keyword" ? fc.constantFrom(...keywords) : fc.constantFrom(...numbers);
}

function documentOf(definition: CollectionDefinition): fc.Arbitrary<IndexDocument> {
  const plain = definition.fields.filter((field) => field.type !== "country" && field.type !== "geopoint");
  const pointFields = definition.fields.filter((field) => field.type === "geopoint");
  const fields = Object.fromEntries(
    plain.flatMap((field): [string, fc.Arbitrary<IndexValue | readonly IndexValue[]>][] => {
      const one = operandOf(field);
      if (field.multiple) return [[field.name, fc.uniqueArray(one, { minLength: 1, maxLength: 3 })]];
      return field.countryStem === null
        ? [[field.name, one]]
        : countries.map((country) => [indexField(field, country), one]);
    }),
  );
  const points = pointFields.map((field): [string, fc.Arbitrary<readonly GeoPoint[]>] => [
    field.name,
    fc.array(fc.constantFrom(...places), { minLength: 1, maxLength: field.multiple ? 3 : 1 }),
  ]);
  const text = fc
    .array(fc.constantFrom(...terms), { minLength: 1, maxLength: 6 })
    .map((words) => words.join(" "));
  return fc.record({
    countries: fc.subarray([...countries], { minLength: 1 }),
    fields: someOf(fields),
    points: someOf(Object.fromEntries(points)),
    texts: someOf(Object.fromEntries(definition.textFields.map((name) => [name, text]))),
  });
}

/** An object with any of these members. */
function someOf<T>(
  members: Readonly<Record<string, fc.Arbitrary<T>>>,
): fc.Arbitrary<Readonly<Record<string, T>>> {
  return fc.record(members, { requiredKeys: [] }) as fc.Arbitrary<Readonly<Record<string, T>>>;
}

/** Puts and removals of a few records, in no order of their change numbers. */
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
      text: fc.string({ unit: "grapheme", maxLength: 10 }),
      document: documentOf(collections[collection]),
    })
    .map(({ record, change, business_uuid, text, document }): RowChange => {
      const record_id = recordIdFor(collection, space, record);
      const row = JSON.stringify({ record_id, change, text });
      return { kind: "put", collection, record_id, business_uuid, change, row, document };
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
      return fc.constantFrom(...numbers).map((value) => ({ field: name, op, value }));
  }
}

/** Every clause that a search of the collection can have, with its operands at random. */
export function clausesOf(collection: CollectionName, country: string): readonly fc.Arbitrary<RowClause>[] {
  return collections[collection].fields
    .filter((field) => field.type !== "country")
    .flatMap((field) => field.operators.map((op) => clauseOf(field, op, country)));
}

/** Any query that collections/ can make, now and then by relevance. */
export function queryOf(collection: CollectionName): fc.Arbitrary<RowQuery> {
  const definition = collections[collection];
  return fc.constantFrom(...countries).chain((country) => {
    const keys = definition.fields.filter((field) => definition.sortKeys.includes(field.name));
    const direction = fc.constantFrom("asc" as const, "desc" as const);
    const sortKey = fc.constantFrom(...keys).map((field) => indexField(field, country));
    const text = fc.record({
      terms: fc.uniqueArray(fc.constantFrom(...terms, "absent"), { minLength: 1, maxLength: 3 }),
      fields: fc.subarray([...definition.textFields], { minLength: 1 }),
    });
    return fc
      .record({
        clauses: fc.array(fc.oneof(...clausesOf(collection, country)), { maxLength: 3 }),
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
