import Ajv2020 from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { utf8 } from "../bytes.ts";
import { collectionNames, type ShownType } from "../identifiers.ts";
import type { JsonObject, JsonValue } from "../json/canonical-json.ts";
import { parseRecord, recordJsonSchema } from "./parse-record.ts";
import { sampleAd, sampleRecords } from "./records.fixture.ts";

const ajv = new Ajv2020.default({ allErrors: true, strict: true, formats: { "date-time": true } });

/** Yields the pointer of every value in a record. */
function* places(
  value: JsonValue,
  path: readonly (string | number)[] = [],
): Generator<readonly (string | number)[]> {
  yield path;
  if (value === null || typeof value !== "object") return;
  for (const key of Object.keys(value))
    yield* places((value as JsonObject)[key] as JsonValue, [...path, key]);
}

function replaced(value: JsonValue, path: readonly (string | number)[], by: JsonValue): JsonValue {
  const [key, ...rest] = path;
  if (key === undefined) return by;
  const copy = structuredClone(value) as Record<string | number, JsonValue>;
  copy[key] = replaced(copy[key] as JsonValue, rest, by);
  return copy;
}

const odd = fc.oneof(
  fc.constantFrom<JsonValue>(
    null,
    true,
    0,
    1.5,
    -1,
    1e300,
    "",
    " ",
    "x",
    "a\nb",
    "\u0007",
    "en",
    "US",
    "9.99",
    [],
    {},
    ["US"],
  ),
  fc.string({ unit: "binary", maxLength: 600 }).filter((text) => text.isWellFormed()),
  fc
    .jsonValue()
    // When ajv compares items it calls members with these names, whatever they are, and fails.
    .filter((value) => !/"(?:valueOf|toString|constructor)":/.test(JSON.stringify(value)))
    .map((value) => value as JsonValue),
);

const samples: Readonly<Record<ShownType, JsonObject>> = { ...sampleRecords, ads: sampleAd };

describe("the JSON Schema of a record type", () => {
  it.each<ShownType>([...collectionNames, "ads"])(
    "of %s refuses nothing that the service accepts",
    (collection) => {
      const validate = ajv.compile(recordJsonSchema(collection));
      const sample = samples[collection];
      const paths = [...places(sample)];
      expect(validate(sample)).toBe(true);
      let refused = 0;
      fc.assert(
        fc.property(fc.constantFrom(...paths), odd, (path, by) => {
          const record = replaced(sample, path, by);
          const accepted = parseRecord(collection, utf8(JSON.stringify(record))).ok;
          const fits = validate(JSON.parse(JSON.stringify(record)));
          if (accepted) expect(fits).toBe(true);
          if (!fits) refused += 1;
        }),
        { numRuns: 400 },
      );
      expect(refused).toBeGreaterThan(50);
    },
  );
});
