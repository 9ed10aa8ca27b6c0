import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { escapeToken, joinPointer, valueAt } from "./json-pointer.ts";

/** RFC 6901 §4, applied in reverse. */
function unescaped(token: string): string {
  return token.replaceAll("~1", "/").replaceAll("~0", "~");
}

describe("a JSON pointer", () => {
  it.each([
    ["", "", "/"],
    ["", "a", "/a"],
    ["/a", "b c", "/a/b c"],
    ["/a", "a/b", "/a/a~1b"],
    ["", "m~n", "/m~0n"],
    ["", "~1", "/~01"],
    ["/0", "~/~", "/0/~0~1~0"],
  ])("of %j joined with %j is %j", (pointer, name, expected) => {
    expect(joinPointer(pointer, name)).toBe(expected);
  });

  it("names each member alone, whatever the member is called", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: fc.constantFrom("~", "/", "0", "1", "a") })), (names) => {
        const pointer = names.reduce(joinPointer, "");
        expect(pointer.split("/").slice(1).map(unescaped)).toEqual(names);
        const value = names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), "here");
        expect(valueAt(value, pointer)).toBe("here");
        expect(valueAt(value, `${pointer}/none`)).toBeUndefined();
      }),
    );
  });

  it("leaves no slash in a token", () => {
    fc.assert(fc.property(fc.string(), (name) => !escapeToken(name).includes("/")));
  });
});
