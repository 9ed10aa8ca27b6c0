import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isObject } from "./json-pointer.ts";

describe("a JSON object", () => {
  it.each([[{}], [{ a: null }], [Object.create(null)], [JSON.parse('{"__proto__":1}')]])("is %j", (value) => {
    expect(isObject(value)).toBe(true);
  });

  it.each([[null], [undefined], [[]], [[{}]], ["{}"], [0], [true], [() => {}]])("is not %j", (value) => {
    expect(isObject(value)).toBe(false);
  });

  it("is told by the first character of its text", () => {
    fc.assert(
      fc.property(fc.json(), (text) => isObject(JSON.parse(text)) === text.trimStart().startsWith("{")),
    );
  });
});
