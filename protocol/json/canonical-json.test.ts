import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import judge from "canonicalize";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toHex, utf8 } from "../bytes.ts";
import { numberTexts, sample, sorting } from "../vectors/rfc8785.ts";
import { canonicalBytes, canonicalDepthMax, canonicalize, type JsonValue } from "./canonical-json.ts";
import { parseStrictJson } from "./strict-json.ts";

/** Test data from the reference implementation (vectors/jcs/README.md). */
const referenceFolder = join(import.meta.dirname, "../vectors", "jcs");
const referenceNames = [
  "arrays.json",
  "french.json",
  "structures.json",
  "unicode.json",
  "values.json",
  "weird.json",
];

function referenceBytes(folder: "input" | "output", name: string): Uint8Array {
  return new Uint8Array(readFileSync(join(referenceFolder, folder, name)));
}

function doubleOf(bits: string): number {
  return new DataView(Uint8Array.fromHex(bits).buffer).getFloat64(0);
}

/** Nests containers of alternating kinds, `depth` in all. */
function nested(depth: number): JsonValue {
  let value: JsonValue = [];
  for (let level = 1; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

describe("canonical JSON", () => {
  it.each(numberTexts.filter(([, text]) => text !== null))(
    "writes the double %s as RFC 8785 appendix B: %s",
    (bits, text) => {
      expect(canonicalize(doubleOf(bits))).toBe(text);
    },
  );

  it.each(numberTexts.filter(([, text]) => text === null))("refuses the double %s", (bits) => {
    expect(() => canonicalize([doubleOf(bits)])).toThrow(TypeError);
  });

  it("writes the sample of RFC 8785 §3.2.4, byte for byte", () => {
    expect(toHex(canonicalBytes(JSON.parse(sample.text) as JsonValue))).toBe(sample.canonicalHex);
  });

  it.each(referenceNames)("writes the reference implementation's %s, byte for byte", (name) => {
    const parsed = parseStrictJson(referenceBytes("input", name));
    expect(parsed.ok && toHex(canonicalBytes(parsed.value))).toBe(toHex(referenceBytes("output", name)));
  });

  it("has every file of the reference implementation's test data before it", () => {
    for (const folder of ["input", "output"]) {
      expect(readdirSync(join(referenceFolder, folder)).toSorted()).toEqual(referenceNames);
    }
  });

  it("sorts members by UTF-16 code units (RFC 8785 §3.2.3)", () => {
    const canonical = canonicalize(JSON.parse(sorting.text) as JsonValue);
    const positions = sorting.order.map((value) => canonical.indexOf(`"${value}"`));
    expect(positions).toEqual(positions.toSorted((a, b) => a - b));
    expect(Math.min(...positions)).toBeGreaterThan(0);
  });

  it("sorts members that look like numbers as text, and keeps __proto__", () => {
    expect(canonicalize(JSON.parse('{"10":1,"9":2,"__proto__":{"b":1,"a":2}}') as JsonValue)).toBe(
      '{"10":1,"9":2,"__proto__":{"a":2,"b":1}}',
    );
  });

  it.each([
    ["undefined", undefined],
    ["an undefined member", { a: undefined }],
    ["a hole", new Array(1)],
    ["a function", { a: () => 1 }],
    ["a symbol", Symbol("a")],
    ["a bigint", 1n],
    ["a date", new Date(0)],
    ["a map", { a: new Map() }],
    ["bytes", new Uint8Array(2)],
    ["a boxed string", Object("a")],
    ["infinity", Number.POSITIVE_INFINITY],
    ["not a number", { a: [Number.NaN] }],
    ["a lone high surrogate", "\ud83d"],
    ["a lone low surrogate", ["\ude00\ud83d"]],
    ["a lone surrogate in a member name", { "\ud800": 1 }],
  ])("refuses %s", (_, value) => {
    expect(() => canonicalize(value as JsonValue)).toThrow(TypeError);
  });

  it("bounds the depth, which ends cycles too", () => {
    const cycle: { [name: string]: JsonValue } = {};
    cycle["a"] = [cycle];
    expect(canonicalize(nested(canonicalDepthMax))).toBe(judge(nested(canonicalDepthMax)));
    expect(() => canonicalize(nested(canonicalDepthMax + 1))).toThrow(/64 levels deep/);
    expect(() => canonicalize(cycle)).toThrow(/64 levels deep/);
  });

  it("writes what the canonicalize package writes, and writes it again after reading it", () => {
    const units = fc.oneof(
      fc.constantFrom("\u2028", '"', "\\", "\u0000", "\u007f", "é", "\ufb33", "😀", "1", "_"),
      fc.constantFrom("a", "b"),
    );
    const json = fc.oneof(
      fc.jsonValue({ stringUnit: "binary" }),
      fc.jsonValue({ stringUnit: units, maxDepth: 4, noUnicodeString: false }),
    );
    fc.assert(
      fc.property(json, (value) => {
        const canonical = canonicalize(value as JsonValue);
        expect(canonical).toBe(judge(value));
        const parsed = parseStrictJson(utf8(canonical));
        expect(parsed.ok && canonicalize(parsed.value)).toBe(canonical);
      }),
      { numRuns: 2000 },
    );
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        expect(canonicalize(number)).toBe(judge(number));
      }),
      { numRuns: 2000 },
    );
  });
});
