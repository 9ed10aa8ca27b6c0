import { expect, it } from "vitest";
import { bodyValidator } from "./json-schema.ts";

const schema = { type: "object", properties: { a: { type: "string" } }, additionalProperties: false };
const faultOf = bodyValidator(schema, ["a"]);
const withUnknown = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`b${index}`, 0]));

it("tells every fault of a small body", () => {
  expect(faultOf({ a: "x" })).toBeNull();
  expect(faultOf({ a: 1, ...withUnknown(3) })?.errors).toHaveLength(4);
});

it("tells the first fault of a body of many values, which would be an object each", () => {
  expect(faultOf(withUnknown(511))?.errors?.length).toBeGreaterThan(1);
  const [fault, ...others] = faultOf(withUnknown(512))?.errors ?? [];
  expect([fault?.detail, others]).toEqual(['The member "b0" is not allowed here.', []]);
  expect(faultOf({ a: "x", b: Array<number>(10_000).fill(0) })?.errors).toHaveLength(1);
});

it("accepts a body of many values that fits", () => {
  const open = bodyValidator({ type: "object" }, []);
  expect(open({ row: Array<number>(4_000).fill(0) })).toBeNull();
});
