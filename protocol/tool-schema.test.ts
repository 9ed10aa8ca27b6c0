import { expect, it } from "vitest";
import type { JsonObject, JsonValue } from "./json/canonical-json.ts";
import { refusedPlaces } from "./tool-schema.fixture.ts";
import { meantArguments, toolSchema } from "./tool-schema.ts";

it.each<[string, JsonObject, JsonObject]>([
  ["an enum gets its type", { items: { enum: ["a", "b"] } }, { items: { type: "string", enum: ["a", "b"] } }],
  [
    "a format goes, but for date-time",
    {
      properties: { format: { type: "string", format: "uuid" }, at: { type: "string", format: "date-time" } },
    },
    { properties: { format: { type: "string" }, at: { type: "string", format: "date-time" } } },
  ],
  [
    "an object that may have any further members says nothing of them",
    { items: { anyOf: [{ type: "object", patternProperties: { "": {} }, additionalProperties: false }] } },
    { items: { anyOf: [{ type: "object" }] } },
  ],
  [
    "one that may have some keeps them",
    { patternProperties: { "": {}, "^x": { format: "uuid" } }, additionalProperties: false },
    { patternProperties: { "^x": {} } },
  ],
  [
    "rules between members of the root go, and lengths of texts",
    {
      required: ["a", "c"],
      anyOf: [{ required: ["b"] }],
      properties: { a: { type: "string", minLength: 1 }, c: { type: "array", minItems: 1 } },
    },
    { required: ["a", "c"], properties: { a: { type: "string" }, c: { type: "array", minItems: 1 } } },
  ],
  ["what all clients take stays", { type: "object", required: ["a"] }, { type: "object", required: ["a"] }],
])("%s", (_name, given, published) => {
  expect(toolSchema(given)).toEqual({ ...published, type: "object" });
});

it.each<[string, JsonValue, JsonValue]>([
  ["an object in a text", { filter: '{"all":[]}' }, { filter: { all: [] } }],
  [
    "an array in a text, and what is in it",
    { filter: { all: '["{\\"a\\":1}"]' } },
    { filter: { all: [{ a: 1 }] } },
  ],
  ["a text that is meant as one", { q: '{"all":[]}' }, { q: '{"all":[]}' }],
  [
    "an array in a text where an object is wanted, which its judge refuses",
    { filter: "[1]" },
    { filter: [1] },
  ],
  ["a text that is neither", { filter: "1" }, { filter: "1" }],
  ["what is no JSON", { filter: "{all:[]}" }, { filter: "{all:[]}" }],
  ["what the schema does not have", { other: "{}" }, { other: "{}" }],
])("reads %s", (_name, given, meant) => {
  const clause = { type: "object", properties: { a: { type: "integer" } } };
  const all = { type: "array", items: clause };
  const filter = { type: "object", properties: { all } };
  const schema: JsonObject = { type: "object", properties: { q: { type: "string" }, filter } };
  expect(meantArguments(schema, given)).toEqual(meant);
});

it("its fixture finds what clients refuse", () => {
  const schema = { properties: { a: { enum: ["x"] }, b: {}, c: { type: "string", format: "date" } } };
  expect(refusedPlaces(schema)).toEqual(["/properties/a", "/properties/b", "/properties/c"]);
  expect(refusedPlaces({ type: "object", anyOf: [{ required: ["a"] }] })).toEqual(["/"]);
});
