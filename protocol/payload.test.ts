import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { utf8 } from "./bytes.ts";
import { type PayloadFormat, parsePayload } from "./dsse.ts";
import { canonicalBytes, type JsonValue } from "./json/canonical-json.ts";
import { distinct, flag, integer, list, literal, nullable, object, optional, text } from "./shape.ts";

interface Sample {
  readonly v: 2;
  readonly name: string;
  readonly count: number | null;
  readonly items: readonly boolean[];
  readonly tags?: readonly string[];
}

const format: PayloadFormat<Sample> = {
  version: 2,
  versions: [1, 2],
  shape: object({
    v: literal(2),
    name: text(5),
    count: nullable(integer({ min: 0, max: 9 })),
    items: list(flag, { min: 1, max: 2 }),
    tags: optional(distinct(text(3), { min: 0, max: 3 })),
  }),
};
const sample = { v: 2, name: "tea", count: null, items: [true] };

function judge(value: object): { readonly code?: string; readonly pointer?: string } {
  return parsePayload(canonicalBytes(JSON.parse(JSON.stringify(value)) as JsonValue), format) as {
    code?: string;
  };
}

describe("a closed payload", () => {
  it("is read with exactly its members", () => {
    expect(judge(sample)).toEqual({ ok: true, value: sample });
    expect(judge({ ...sample, tags: ["a", "b"] })).toMatchObject({ ok: true });
  });

  it.each([
    [{ more: 1 }, "/more"],
    [{ "a/b~c": 1 }, "/a~1b~0c"],
    [{ name: undefined }, "/name"],
    [{ name: "" }, "/name"],
    [{ name: "longer" }, "/name"],
    [{ count: 10 }, "/count"],
    [{ count: 1.5 }, "/count"],
    [{ count: "1" }, "/count"],
    [{ items: [] }, "/items"],
    [{ items: [true, 1] }, "/items/1"],
    [{ items: [true, true, true] }, "/items"],
    [{ items: { 0: true } }, "/items"],
    [{ tags: ["a", "a"] }, "/tags"],
    [{ tags: null }, "/tags"],
  ])("with %j is payload_malformed at %s", (change, pointer) => {
    expect(judge({ ...sample, ...change })).toMatchObject({ code: "payload_malformed", pointer });
  });

  it("of another version is malformed where the version exists, unknown where it does not", () => {
    expect(judge({ ...sample, v: 1 })).toMatchObject({ code: "payload_malformed" });
    expect(judge({ ...sample, v: 3 })).toMatchObject({ code: "version_unknown" });
    for (const v of [undefined, "2", 2.5, null])
      expect(judge({ ...sample, v })).toMatchObject({ code: "payload_malformed" });
  });

  it("is refused in any text but the canonical one", () => {
    const canonical = '{"count":null,"items":[true],"name":"tea","v":2}';
    expect(parsePayload(utf8(canonical), format)).toMatchObject({ ok: true });
    const loose = [
      '{"v":2,"count":null,"items":[true],"name":"tea"}',
      canonical.replace(",", ", "),
      canonical.replace("tea", "t\\u0065a"),
      canonical.replace('"v":2', '"v":2.0'),
      canonical.replace('"v":2', '"v":2,"v":2'),
      `${canonical}\n`,
      `\ufeff${canonical}`,
      "[]",
      "",
    ];
    for (const each of loose)
      expect(parsePayload(utf8(each), format)).toMatchObject({ code: "payload_malformed" });
  });

  it("never takes a value that it does not know for one that it does", () => {
    fc.assert(
      fc.property(
        fc.object({
          key: fc.constantFrom("v", "name", "count", "items", "tags", "__proto__", "constructor"),
        }),
        (value) => {
          const verdict = judge(value);
          // A random object will not match the format by chance.
          expect(verdict.code).toMatch(/^(payload_malformed|version_unknown)$/);
        },
      ),
    );
  });
});
