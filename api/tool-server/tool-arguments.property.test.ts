// What is published of a tool's arguments, and what is judged, agree: a model that keeps to the schema is not refused for
// its form, and nothing is taken that the schema excludes. Ajv reads the schemas, and knows nothing of the shapes.

import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseBase64 } from "../../protocol/bytes.ts";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import { firstFault, type Shape } from "../../protocol/shape.ts";
import { isObject } from "../../std/json-pointer.ts";
import {
  certificateArguments,
  keysArguments,
  noArguments,
  projectionArguments,
  proofArguments,
  specArguments,
  verifyArguments,
  vocabularyArguments,
} from "./public-tools.ts";

const uuid = "00000000-0000-4000-8000-000000000001";
const hash = `sha256:${"0".repeat(64)}`;
const shapes: Readonly<Record<string, Shape<unknown>>> = {
  verify: verifyArguments,
  certificate: certificateArguments,
  keys: keysArguments,
  projection: projectionArguments,
  spec: specArguments,
  log_checkpoint: noArguments,
  log_proof: proofArguments,
  vocabularies: vocabularyArguments,
};

/** Values of which each is right for some member, and wrong for others. */
const values: readonly JsonValue[] = [
  uuid,
  hash,
  "business",
  "service",
  "custody",
  "products",
  "markdown",
  "countries",
  "eu-west1",
  "202601020304",
  "AAAA",
  "warn",
  1,
  7,
  0,
  1.5,
  null,
  {},
  { record_base64: "AAAA" },
  [],
  true,
  "",
];
const value = fc.constantFrom(...values);
const names = [
  ...new Set(Object.values(shapes).flatMap(({ schema }) => Object.keys(schema["properties"] ?? {}))),
];

/** Whether the record is a text that is not base64: JSON Schema can name the encoding, and leaves it to be judged. */
function isOtherText(given: JsonValue): boolean {
  const record = isObject(given) ? given["record_base64"] : undefined;
  return typeof record === "string" && parseBase64(record) === null;
}

it("a record that is not base64 is refused, which the schema cannot say", () => {
  const given = { record_base64: uuid, row: {} };
  expect(firstFault(verifyArguments, given)).toMatchObject({ pointer: "/record_base64" });
});

describe.each(Object.entries(shapes))("the arguments of %s", (_name, shape) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const validate = ajv.compile(shape.schema);
  const own = Object.keys(shape.schema["properties"] ?? {});

  it("are published as an object, without alternatives at the top", () => {
    expect(shape.schema).toMatchObject({ type: "object", additionalProperties: false });
    for (const keyword of ["anyOf", "oneOf", "allOf"]) expect(shape.schema).not.toHaveProperty(keyword);
  });

  const expectAgreement = (given: JsonValue): void => {
    expect([given, firstFault(shape, given) === null]).toEqual([given, validate(given)]);
  };

  it("are judged as they are published, each alone", () => {
    for (const name of own)
      for (const each of values) {
        const given = { [name]: each };
        if (!isOtherText(given)) expectAgreement(given);
      }
  });

  it("are judged as they are published", () => {
    const drawn = fc.oneof(
      fc.dictionary(fc.constantFrom(...(own.length === 0 ? ["uuid"] : own)), value, { maxKeys: 4 }),
      fc.dictionary(fc.constantFrom(...names, "other"), value, { maxKeys: 3 }),
      value,
    );
    fc.assert(
      fc.property(drawn, (given) => {
        const copy = JSON.parse(JSON.stringify(given)) as JsonValue;
        fc.pre(!isOtherText(copy));
        expectAgreement(copy);
      }),
      { numRuns: 500 },
    );
  });
});
