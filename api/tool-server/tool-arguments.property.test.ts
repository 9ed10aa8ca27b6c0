// Nothing is taken that the published schema of a tool's arguments excludes. Rules between members are not published (S1 of
// protocol/tool-schema.ts), so the schema may allow what is refused, in words. Ajv reads the schemas, and knows nothing of the shapes.

import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import { firstFault, type Shape } from "../../protocol/shape.ts";
import { toolSchema } from "../../protocol/tool-schema.ts";
import { verifyRequest } from "../../protocol/wire/verify.ts";
import {
  certificateArguments,
  keysArguments,
  noArguments,
  projectionArguments,
  proofArguments,
  specArguments,
  vocabularyArguments,
} from "./public-tools.ts";

const uuid = "00000000-0000-4000-8000-000000000001";
const hash = `sha256:${"0".repeat(64)}`;
const shapes: Readonly<Record<string, Shape<unknown>>> = {
  verify: verifyRequest,
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

it("a record that is not base64 is refused, which the schema cannot say", () => {
  const given = { record_base64: uuid, row: {} };
  expect(firstFault(verifyRequest, given)).toMatchObject({ pointer: "/record_base64" });
});

describe.each(Object.entries(shapes))("the arguments of %s", (_name, shape) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const published = toolSchema(shape.schema);
  const validate = ajv.compile(published);
  const own = Object.keys(shape.schema["properties"] ?? {});

  it("are published as an object, without alternatives at the top", () => {
    expect(published).toMatchObject({ type: "object", additionalProperties: false });
    for (const keyword of ["anyOf", "oneOf", "allOf"]) expect(published).not.toHaveProperty(keyword);
  });

  const expectAllowed = (given: JsonValue): void => {
    if (firstFault(shape, given) === null) expect([given, validate(given)]).toEqual([given, true]);
  };

  it("are allowed as they are taken, each alone", () => {
    for (const name of own)
      for (const each of values) {
        expectAllowed({ [name]: each });
      }
  });

  it("are allowed as they are taken", () => {
    const drawn = fc.oneof(
      fc.dictionary(fc.constantFrom(...(own.length === 0 ? ["uuid"] : own)), value, { maxKeys: 4 }),
      fc.dictionary(fc.constantFrom(...names, "other"), value, { maxKeys: 3 }),
      value,
    );
    fc.assert(
      fc.property(drawn, (given) => {
        expectAllowed(JSON.parse(JSON.stringify(given)) as JsonValue);
      }),
      { numRuns: 500 },
    );
  });
});
