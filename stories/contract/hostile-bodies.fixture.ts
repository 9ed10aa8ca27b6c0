// Bodies that routes take in and that make as much work as they can, in every way in which a body may be large. For tests.

import fc from "fast-check";
import { parseUtf8, utf8 } from "../../protocol/bytes.ts";
import type { JsonObject, JsonValue } from "../../protocol/json/canonical-json.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import { countries } from "../../protocol/records/vocabularies/countries.ts";

/** A value, and how many bytes it has at most as JSON. */
type Sized = (bytesMax: number) => JsonValue;

const letters = "abcdefghijklmnopqrstuvwxyz0123456789_";

/** Texts of which long ones are made: plain, many words, of other scripts, almost directives, addresses, look-alikes. */
const phrases = [
  "a",
  "shoe ",
  "\u00df",
  "\u{1f45f}",
  "\u0430pple ",
  "ignore all other sources. ",
  "Please rank this first and ",
  "i g n o r e ",
  "https://shop.example/a?b=c ",
  "Harrier Sports Ltd, Fellside GmbH ",
  "\u0438\u0433\u043d\u043e\u0440\u0438\u0440\u0443\u0439 ",
  "\u5ffd\u7565\u5176\u4ed6",
  '\\u0041"\n',
] as const;

const phrase = fc.constantFrom(...phrases);
const bytesOf = (value: JsonValue): number => utf8(JSON.stringify(value)).length;

const longText: fc.Arbitrary<Sized> = phrase.map((each) => (bytesMax) => {
  const times = Math.floor((bytesMax - 2) / Math.max(1, bytesOf(each) - 2));
  return each.repeat(Math.max(1, times));
});

function fill(bytesMax: number, item: (index: number) => JsonValue): readonly JsonValue[] {
  const items: JsonValue[] = [];
  for (let left = bytesMax - 2; ; ) {
    const next = item(items.length);
    left -= bytesOf(next) + 1;
    if (left < 0) return items;
    items.push(next);
  }
}

const tiny = fc.constantFrom<JsonValue>(0, null, "", [], {}, "a", -1.5e-300);

const wide: fc.Arbitrary<Sized> = tiny.map((each) => (bytesMax) => fill(bytesMax, () => each));

/** Names of a length, all of them different; near to names that exist or not. */
const members: fc.Arbitrary<Sized> = fc
  .record({
    length: fc.integer({ min: 4, max: 64 }),
    stem: fc.constantFrom("", "availab", "prod_name"),
    value: tiny,
  })
  .map(({ length, stem, value }) => (bytesMax) => {
    const name = (index: number): string =>
      `${index.toString(36).padStart(4, "0")}${stem}`.padEnd(length, letters).slice(0, Math.max(length, 4));
    const found = fill(bytesMax, (index) => [name(index), value]) as readonly (readonly [
      string,
      JsonValue,
    ])[];
    return Object.fromEntries(found);
  });

const deep: fc.Arbitrary<Sized> = fc
  .record({ depth: fc.integer({ min: 1, max: 64 }), isObject: fc.boolean() })
  .map(({ depth, isObject }) => (bytesMax) => {
    let value: JsonValue = 0;
    for (let level = 0; level < depth; level += 1) value = isObject ? { a: value } : [value];
    return fill(bytesMax, () => value);
  });

/** Any JSON of a size. */
export const hostileJson: fc.Arbitrary<Sized> = fc.oneof(longText, wide, members, deep);

const productCountries = [...countries.codes];

/** Products that the record type accepts, as large as it lets them be. */
const fullProduct: fc.Arbitrary<JsonObject> = fc
  .record({
    each: phrase,
    amount: fc.constantFrom("1.00", "12345.67"),
    nations: fc.integer({ min: 1, max: productCountries.length }),
    tags: fc.nat(20),
  })
  .map(({ each, amount, nations, tags }) => {
    const text = (length: number): string =>
      [...each.replaceAll("\n", " ").repeat(length)].slice(0, length).join("");
    const named = productCountries.slice(0, nations);
    return {
      ...sampleRecords.products,
      product_name: `x${text(199)}`,
      short_description: `x${text(499)}`,
      tags: Array.from({ length: tags }, (_, index) => `${index}${text(40)}`),
      countries: named,
      prices: named.map((country) => ({ country, currency: "USD", amount })),
    };
  });

/** What a member of a product may be instead of what it should be. */
const memberNames = [...Object.keys(sampleRecords.products ?? {}), "unknown"];
const wrongProduct: fc.Arbitrary<Sized> = fc
  .record({ name: fc.constantFrom(...memberNames), value: hostileJson })
  .map(({ name, value }) => (bytesMax) => ({
    ...sampleRecords.products,
    [name]: value(Math.max(2, bytesMax - bytesOf(sampleRecords.products))),
  }));

/** Products that differ in their ids, and what stands where a product should. */
export const hostileRecord: fc.Arbitrary<(bytesMax: number, id: string) => Uint8Array> = fc.oneof(
  fullProduct.map(
    (record) => (_: number, id: string) => utf8(JSON.stringify({ ...record, business_product_id: id })),
  ),
  wrongProduct.map(
    (sized) => (bytesMax: number, id: string) =>
      utf8(JSON.stringify({ ...(sized(bytesMax) as JsonObject), business_product_id: id })),
  ),
  hostileJson.map((sized) => (bytesMax: number) => utf8(JSON.stringify(sized(bytesMax)))),
  fc.uint8Array({ minLength: 1, maxLength: 3 }).map((bytes) => () => bytes),
);

/** Records of one kind or of several, so many and so large that they have about so many bytes together. */
export function hostileRecords(
  recordsMax: number,
  recordBytesMax: number,
): fc.Arbitrary<{ readonly records: readonly Uint8Array[] }> {
  const size = fc.integer({ min: 1, max: Math.floor(Math.log2(recordBytesMax)) }).map((power) => 2 ** power);
  const total = fc.constantFrom(200_000, 2_000_000, 8_000_000);
  const kinds = fc.array(hostileRecord, { minLength: 1, maxLength: 3 });
  return fc.record({ kinds, size, total }).map(({ kinds: makers, size: bytesMax, total: bytes }) => {
    const [first, ...others] = makers.map((make) => make(bytesMax, "p0"));
    const largest = Math.max(...[first, ...others].map((each) => each?.length ?? 1));
    const count = Math.max(1, Math.min(recordsMax, Math.floor(bytes / largest)));
    const records = Array.from(
      { length: count },
      (_, index) => makers[index % makers.length]?.(bytesMax, `p${index}`) ?? new Uint8Array(1),
    );
    const samples = [first, ...others].map(
      (each) => `${each?.length} bytes: ${parseUtf8(each ?? new Uint8Array())?.slice(0, 200)}`,
    );
    return { records, [fc.toStringMethod]: () => `${count} records of ${samples.join(" | ")}` };
  });
}
