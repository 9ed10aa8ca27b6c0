import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, expectTypeOf, it } from "vitest";
import type { JsonValue } from "./json/canonical-json.ts";
import { requestProblem } from "./problem.ts";
import {
  allFaults,
  anyObject,
  described,
  dictionary,
  distinct,
  either,
  firstFault,
  flag,
  hash,
  integer,
  keyId,
  literal,
  matching,
  named,
  nothing,
  nullable,
  type Of,
  object,
  oneOf,
  optional,
  publicJwk,
  text,
  timestamp,
  uuid,
} from "./shape.ts";

const shape = object(
  {
    v: literal(2),
    name: text(5),
    colour: oneOf(["red", "green"]),
    count: nullable(integer({ min: 0, max: 9 })),
    tags: optional(distinct(matching(/^[a-z]+$/, "a lower-case word"), { min: 1, max: 3 })),
    inner: optional(object({ flag, none: nothing })),
    either: optional(either(flag, object({ a: text(1) }))),
    notes: optional(dictionary(text(3))),
  },
  { "^price_[A-Z]{2}$": integer({ min: 0, max: 99 }) },
);
const sample = { v: 2, name: "tea", colour: "red", count: null };
const more = {
  tags: ["a"],
  inner: { flag: true, none: null },
  either: { a: "b" },
  notes: { x: "y" },
  price_US: 3,
};
const judge = new Ajv2020({ strict: true, validateFormats: false }).compile(shape.schema);
const faultsOf = (value: unknown) => allFaults(shape, value as JsonValue, 20);

describe("a shape", () => {
  it.each([sample, { ...sample, ...more }])("takes %j, and so does what is published of it", (value) => {
    expect(faultsOf(value)).toEqual([]);
    expect(judge(value)).toBe(true);
  });

  it.each([
    [{ v: 1 }, "/v"],
    [{ v: undefined }, "/v"],
    [{ name: "" }, "/name"],
    [{ name: "longer" }, "/name"],
    [{ colour: "blue" }, "/colour"],
    [{ count: 10 }, "/count"],
    [{ count: 1.5 }, "/count"],
    [{ tags: [] }, "/tags"],
    [{ tags: ["a", "B"] }, "/tags/1"],
    [{ tags: ["a", "a"] }, "/tags"],
    [{ inner: {} }, "/inner/flag"],
    [{ inner: { flag: true, none: null, more: 1 } }, "/inner/more"],
    [{ either: { a: 1 } }, "/either/a"],
    [{ notes: { x: 1 } }, "/notes/x"],
    [{ price_US: 100 }, "/price_US"],
    [{ price_us: 1 }, "/price_us"],
    [{ __proto__x: 1, "a/b~c": 1 }, "/__proto__x"],
  ])("refuses %j at %s, and so does what is published of it", (change, pointer) => {
    const value = JSON.parse(JSON.stringify({ ...sample, ...change })) as JsonValue;
    expect(faultsOf(value)[0]?.pointer).toBe(pointer);
    expect(judge(value)).toBe(false);
  });

  it("tells every fault at once, with the nearest name of one that is wrong, and no more than it is asked for", () => {
    const value = { v: 3, nam: "tea", colour: "gren", count: "x" };
    expect(faultsOf(value)).toEqual([
      expect.objectContaining({ pointer: "/nam", suggestion: "name" }),
      { pointer: "/v", detail: "Must be 2." },
      { pointer: "/name", detail: "name is required." },
      expect.objectContaining({ pointer: "/colour", suggestion: "green" }),
      { pointer: "/count", detail: "Must be an integer from 0 to 9." },
    ]);
    expect(allFaults(shape, value, 2)).toHaveLength(2);
    expect(requestProblem(shape, value)).toMatchObject({
      code: "request_invalid",
      pointer: "/nam",
      suggestion: "name",
      allowed: expect.arrayContaining(["name", "colour"]),
      errors: { length: 5 },
    });
    expect(requestProblem(shape, sample)).toBeNull();
  });

  it("tells of a body with many faults twenty, and looks for no more", () => {
    const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`b${index}`, 0]));
    expect(requestProblem(shape, many)?.errors).toHaveLength(20);
  });

  it("is the type of what it accepts", () => {
    const whole: Of<typeof shape> = { ...sample, v: 2, colour: "red", count: 1 };
    const held = object({
      a: text(1),
      b: optional(integer({ min: 0, max: 1 })),
    });
    expect([faultsOf(whole), allFaults(held, { a: "x" }, 9)]).toEqual([[], []]);
    expectTypeOf<Of<typeof shape>["colour"]>().toEqualTypeOf<"red" | "green">();
    expectTypeOf<Of<typeof shape>["count"]>().toEqualTypeOf<number | null>();
  });

  it("keeps what is said of a named one everywhere beside what is said of it here", () => {
    const thing = named("Thing", described(object({ a: flag }), "Of things."));
    expect(described(thing, "This one.").schema).toEqual({ allOf: [thing.schema], description: "This one." });
  });
});

it.each([
  [timestamp, "2026-01-31T08:00:00.000Z", ["2026-02-30T08:00:00.000Z", "2026-01-31"]],
  [hash, `sha256:${"0".repeat(64)}`, [`sha256:${"A".repeat(64)}`, "sha256:"]],
  [keyId, "A".repeat(43), ["A".repeat(42), `${"A".repeat(42)}B`]],
  [uuid, "10000000-0000-4000-8000-000000000001", ["10000000-0000-1000-8000-000000000001"]],
  [
    publicJwk,
    { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" },
    [{ kty: "OKP" }, 1],
  ],
])("what is published of a form is no narrower than it is", (form, right, wrong) => {
  const published = new Ajv2020({ validateFormats: false }).compile(form.schema);
  expect([allFaults(form, right, 1), published(right)]).toEqual([[], true]);
  for (const value of wrong) expect(allFaults(form, value as JsonValue, 1)).toHaveLength(1);
});

it.each([object({ a: optional(flag) }), dictionary(flag), anyObject])(
  "an object that was written as a text is refused with those words",
  (each) => {
    const detailOf = (value: JsonValue) => firstFault(each, value)?.detail;
    expect(detailOf(' {"a":true}')).toBe(
      "Must be an object: send the object itself, not a text that contains it.",
    );
    expect([detailOf("a"), detailOf([])]).toEqual(["Must be an object.", "Must be an object."]);
    expect(detailOf({})).toBeUndefined();
  },
);
