import { expect, it } from "vitest";
import type { JsonObject } from "./json/canonical-json.ts";
import { refusedPlaces } from "./tool-schema.fixture.ts";
import { toolSchema } from "./tool-schema.ts";

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
    { anyOf: [{ type: "object", patternProperties: { "": {} }, additionalProperties: false }] },
    { anyOf: [{ type: "object" }] },
  ],
  [
    "one that may have some keeps them",
    { patternProperties: { "": {}, "^x": { format: "uuid" } }, additionalProperties: false },
    { patternProperties: { "^x": {} } },
  ],
  ["what all clients take stays", { type: "object", required: ["a"] }, { type: "object", required: ["a"] }],
])("%s", (_name, given, published) => {
  expect(toolSchema(given)).toEqual(published);
});

it("its fixture finds what clients refuse", () => {
  const schema = { properties: { a: { enum: ["x"] }, b: {}, c: { type: "string", format: "date" } } };
  expect(refusedPlaces(schema)).toEqual(["/properties/a", "/properties/b", "/properties/c"]);
});
