import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { exactItems, exactMember } from "./strict-json.ts";

describe("the exact text of a member", () => {
  it.each([
    ['{"record":{"a":1.0,"b":"\\u00e9"},"seal":{}}', ["record"], '{"a":1.0,"b":"\\u00e9"}'],
    ['{"a":{"record":1},"record":[ 1 , 2 ]}', ["record"], "[ 1 , 2 ]"],
    ['{"a":"\\"record\\":1","record":"x,}"}', ["record"], '"x,}"'],
    ['{"re\\u0063ord":true}', ["record"], "true"],
    ['{"ai_policy":{"version":1,"record":{"x":{}}}}', ["ai_policy", "record"], '{"x":{}}'],
    ['{"record":{"a":1}\n,"seal":2}', ["record"], '{"a":1}\n'],
    [' { "record" : -1e3 } ', ["record"], " -1e3 "],
    ['{"record":{"seal":1}}', ["seal"], null],
    ['{"a":1}', ["a", "b"], null],
    ["[1]", ["record"], null],
    ["{}", ["record"], null],
  ])("%s at %j", (text, path, expected) => {
    expect(exactMember(text, ...path)).toBe(expected);
  });

  it("is recovered whatever stands around it, white space of the value included", () => {
    const space = fc.string({ unit: fc.constantFrom(" ", "\n", "\t"), maxLength: 3 });
    fc.assert(
      fc.property(fc.json(), fc.json(), fc.json(), space, space, (before, value, after, head, tail) => {
        const exact = head + value + tail;
        const text = `{"before":${before},"record":${exact},"after":${after}}`;
        expect(exactMember(text, "record")).toBe(exact);
      }),
    );
  });
});

describe("the exact texts of the items of a list", () => {
  it.each([
    ["[]", []],
    [" [ ] ", []],
    ['[{"a":1.0} , "x,]" ,[1,[2]],\n-1e3,true ]', ['{"a":1.0}', '"x,]"', "[1,[2]]", "-1e3", "true"]],
    ["{}", null],
    ["1", null],
    ["[,1]", null],
  ])("%s", (text, expected) => {
    expect(exactItems(text)).toEqual(expected);
  });

  it("are recovered whatever they are and stand around them", () => {
    const space = fc.string({ unit: fc.constantFrom(" ", "\n", "\t"), maxLength: 3 });
    fc.assert(
      fc.property(fc.array(fc.json()), space, space, (items, head, tail) => {
        const trimmed = items.map((each) => each.trim());
        expect(exactItems(`${head}[${items.map((each) => head + each + tail).join(",")}]`)).toEqual(trimmed);
      }),
    );
  });
});
