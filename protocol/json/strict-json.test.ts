import { describe, expect, it } from "vitest";
import { utf8 } from "../bytes.ts";
import { defaultDepthMax, parseStrictJson } from "./strict-json.ts";

function outcomeOf(text: string | Uint8Array, options?: { readonly depthMax?: number }) {
  const parsed = parseStrictJson(typeof text === "string" ? utf8(text) : text, options);
  return parsed.ok ? "ok" : `${parsed.code} ${parsed.pointer ?? "-"}`;
}

describe("strict JSON", () => {
  it.each(["null", " 1 ", '"a"', "[]", "{}", '{"a":{"a":[1,-0,1e3]},"b":"\\u0000"}', "\t\r\n [ ] "])(
    "reads %j",
    (text) => {
      expect(parseStrictJson(utf8(text))).toEqual({ ok: true, value: JSON.parse(text) });
    },
  );

  it("reads negative zero as it stands", () => {
    const parsed = parseStrictJson(utf8("-0"));
    expect(parsed.ok && Object.is(parsed.value, -0)).toBe(true);
  });

  it.each([
    ["nothing", ""],
    ["white space", " "],
    ["a byte order mark", "\ufeff{}"],
    ["a comment", "{}//"],
    ["a trailing comma", "[1,]"],
    ["a leading zero", "[01]"],
    ["a plus sign", "[+1]"],
    ["a bare point", "[1.]"],
    ["not a number", "[NaN]"],
    ["infinity", "[Infinity]"],
    ["single quotes", "{'a':1}"],
    ["an unquoted name", "{a:1}"],
    ["two values", "{} {}"],
    ["a control character in a string", '"\u0001"'],
    ["a raw line feed in a string", '"\n"'],
    ["an unknown escape", '"\\x41"'],
    ["half an escape", '"\\u12"'],
    ["an unfinished string", '{"a":"b'],
    ["an unfinished escape", '"\\'],
    ["brackets that do not match", '{"a":[}]'],
    ["closing brackets only", "]]]]"],
    ["a colon too many", '{"a"::1}'],
    ["other white space", "[\u00a01]"],
  ])("refuses %s", (_, text) => {
    expect(outcomeOf(text)).toBe("json_malformed -");
  });

  it.each(["c080", "7bff7d", "22eda08022", "22e28222"])(
    "refuses the bytes %s, which are not UTF-8",
    (hex) => {
      expect(outcomeOf(Uint8Array.fromHex(hex))).toBe("utf8_invalid -");
    },
  );

  it.each([
    ["1e400", ""],
    ["-1e400", ""],
    ['{"a":["1e400",1e400]}', "/a/1"],
    [`[${"9".repeat(400)}]`, "/0"],
    ['{"a":{"b/~":-1E+999}}', "/a/b~1~0"],
  ])("refuses %s, a number that would become infinite", (text, pointer) => {
    expect(outcomeOf(text)).toBe(`json_malformed ${pointer}`);
  });

  it.each(["1e308", "1e-400", "[0.1e+0, 123456789012345678901234567890]"])("reads %s as a double", (text) => {
    expect(parseStrictJson(utf8(text))).toEqual({ ok: true, value: JSON.parse(text) });
  });

  it.each([
    ['{"a":1,"a":1}', "/a"],
    ['{"a":1,"\\u0061":2}', "/a"],
    ['{"\\u005f_proto__":1,"__proto__":2}', "/__proto__"],
    ['{"__proto__":{},"__proto__":{}}', "/__proto__"],
    ['{"":1,"":2}', "/"],
    ['{"a/b~":1,"a/b~":2}', "/a~1b~0"],
    ['{"x":[{"a":1},{"a":1,"b":2,"b":3}]}', "/x/1/b"],
    ['{"x":[[],[1,{"k":{"a":1,"c":[{}],"a":2}}]]}', "/x/1/1/k/a"],
    ['{"a":{"b":1},"c":{"b":1},"a":3}', "/a"],
    ['{"\\"":1,"\\u0022":2}', '/"'],
    ['{"\\\\":1,"b":"\\\\\\"","\\\\":2}', "/\\"],
    ['{"\\ud83d\\ude00":1,"😀":2}', "/😀"],
  ])("refuses the duplicate in %s", (text, pointer) => {
    expect(outcomeOf(text)).toBe(`member_duplicated ${pointer}`);
  });

  it("reads __proto__ as a member like any other", () => {
    const parsed = parseStrictJson(utf8('{"__proto__":{"polluted":true},"constructor":1}'));
    expect(parsed.ok && Object.keys(parsed.value as object)).toEqual(["__proto__", "constructor"]);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it.each([
    ['"\\ud83d"', ""],
    ['"\\uDE00\\uD83D"', ""],
    ['["a","\\ud83dx"]', "/1"],
    ['["\\ud83d😀"]', "/0"],
    ['{"a":{"\\udfff":1}}', "/a"],
    ['{"a":[{"b":"\\\\\\ud800"}]}', "/a/0/b"],
  ])("refuses the lone surrogate in %s", (text, pointer) => {
    expect(outcomeOf(text)).toBe(`surrogate_lone ${pointer}`);
  });

  it.each(['"\\ud83d\\ude00"', '"\\\\ud800"', '{"\\ud83d\\ude00":"\\\\\\\\udfff"}'])(
    "reads %s, which has none",
    (text) => {
      expect(parseStrictJson(utf8(text))).toEqual({ ok: true, value: JSON.parse(text) });
    },
  );

  it("reads escaped member names as they are, whatever V8 read before", () => {
    // nodejs/node issue 63785: after the first text, JSON.parse gave the second a member named "\\".
    JSON.parse('{"h":[],"\\\\":0}');
    for (const name of ["\n", '"', "b"]) {
      const text = `{"h":1,"\\u${name.charCodeAt(0).toString(16).padStart(4, "0")}":[{"x":"y"}]}`;
      expect(parseStrictJson(utf8(text))).toEqual({ ok: true, value: { h: 1, [name]: [{ x: "y" }] } });
    }
    expect(outcomeOf('{"h":1,"\\u0062" : 2,"b":3}')).toBe("member_duplicated /b");
  });

  it("reports the first of several faults", () => {
    expect(outcomeOf('{"a":1,"a":"\\ud800","b":1e999}')).toBe("member_duplicated /a");
    expect(outcomeOf('{"a":"\\ud800","a":1}')).toBe("surrogate_lone /a");
  });
});

describe("the depth of strict JSON", () => {
  const arrays = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;

  it("is counted in containers", () => {
    expect(outcomeOf(arrays(defaultDepthMax))).toBe("ok");
    expect(outcomeOf(objects(defaultDepthMax))).toBe("ok");
    expect(outcomeOf(arrays(defaultDepthMax + 1))).toBe("depth_exceeded -");
    expect(outcomeOf(objects(defaultDepthMax + 1))).toBe("depth_exceeded -");
    expect(outcomeOf("[[]]", { depthMax: 1 })).toBe("depth_exceeded -");
    expect(outcomeOf(`[${"[],".repeat(1000)}[]]`, { depthMax: 2 })).toBe("ok");
  });

  it("is not that of brackets in strings", () => {
    expect(outcomeOf(JSON.stringify(arrays(1000)))).toBe("ok");
    expect(outcomeOf(JSON.stringify(`"\\"${"[".repeat(100)}`))).toBe("ok");
  });

  it.each([10_000, 1_000_000])("may be %d without overflow, allowed or not", (depth) => {
    expect(outcomeOf(arrays(depth))).toBe("depth_exceeded -");
    expect(outcomeOf("[".repeat(depth))).toBe("depth_exceeded -");
    expect(outcomeOf('{"a":'.repeat(depth))).toBe("depth_exceeded -");
  });

  it("costs no recursion where a caller allows it", () => {
    const depth = 10_000;
    expect(outcomeOf(arrays(depth), { depthMax: depth })).toBe("ok");
    expect(outcomeOf(objects(depth).replace("1", '{"b":1,"b":2}'), { depthMax: depth + 1 })).toBe(
      // A pointer longer than 512 characters is truncated.
      `member_duplicated ${"/a".repeat(256)}`,
    );
  });
});

describe("the values of strict JSON", () => {
  it("are counted before anything is made of them", () => {
    const many = utf8(`[${"{},".repeat(1_000)}{}]`);
    expect(parseStrictJson(many, { valuesMax: 2_002 }).ok).toBe(true);
    expect(parseStrictJson(many, { valuesMax: 2_001 })).toMatchObject({ ok: false, code: "values_exceeded" });
    expect(parseStrictJson(utf8("[1,2,3]"), { valuesMax: 2 })).toMatchObject({ code: "values_exceeded" });
    expect(parseStrictJson(utf8('[",,,,[[[["]'), { valuesMax: 1 }).ok).toBe(true);
  });
});
