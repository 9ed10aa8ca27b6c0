import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  concatBytes,
  equalBytes,
  joinUtf8,
  parseBase64,
  parseBase64Url,
  parseHex,
  parseUtf8,
  toBase64,
  toBase64Url,
  toHex,
  utf8,
} from "./bytes.ts";

describe("base64", () => {
  it.each([
    ["", ""],
    ["f", "Zg=="],
    ["fo", "Zm8="],
    ["foo", "Zm9v"],
    ["foob", "Zm9vYg=="],
    ["fooba", "Zm9vYmE="],
    ["foobar", "Zm9vYmFy"],
  ])("writes and reads %j as RFC 4648 §10 does", (text, base64) => {
    expect(toBase64(utf8(text))).toBe(base64);
    expect(parseBase64(base64)).toEqual(utf8(text));
    const base64Url = base64.replaceAll("=", "");
    expect(toBase64Url(utf8(text))).toBe(base64Url);
    expect(parseBase64Url(base64Url)).toEqual(utf8(text));
  });

  it.each([
    ["no padding", "Zg"],
    ["half the padding", "Zg="],
    ["too much padding", "Zm9v===="],
    ["padding alone", "===="],
    ["padding inside", "Zg==Zm9v"],
    ["trailing bits of one byte", "Zh=="],
    ["trailing bits of two bytes", "Zm9="],
    ["a line feed at the end", "Zm9v\n"],
    ["white space", "Zm9v Zg=="],
    ["four characters of white space", "Zm9v    "],
    ["the URL alphabet", "-_-_"],
    ["a character beyond ASCII", "Zm9é"],
  ])("refuses %s", (_, text) => {
    expect(parseBase64(text)).toBeNull();
  });

  it.each([
    ["padding", "Zg=="],
    ["trailing bits", "Zh"],
    ["one character too many", "Zm9vY"],
    ["the other alphabet", "+/+/"],
    ["white space", "Zm 9v"],
  ])("refuses base64url with %s", (_, text) => {
    expect(parseBase64Url(text)).toBeNull();
  });

  it("has one text for one byte string", () => {
    const anyText = fc.string({ unit: fc.constantFrom(..."AZaz09+/-_= ") });
    fc.assert(
      fc.property(anyText, (text) => {
        const bytes = parseBase64(text);
        const urlBytes = parseBase64Url(text);
        if (bytes !== null) expect(toBase64(bytes)).toBe(text);
        if (urlBytes !== null) expect(toBase64Url(urlBytes)).toBe(text);
      }),
      { numRuns: 2000 },
    );
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(toBase64(bytes)).toBe(Buffer.from(bytes).toString("base64"));
        expect(parseBase64(toBase64(bytes))).toEqual(bytes);
        expect(parseBase64Url(toBase64Url(bytes))).toEqual(bytes);
        expect(parseHex(toHex(bytes))).toEqual(bytes);
      }),
    );
  });
});

describe("hexadecimal", () => {
  it.each(["0", "0G", "AB", "0x00", "00 00", "00\n"])("refuses %j", (text) => {
    expect(parseHex(text)).toBeNull();
  });
});

describe("UTF-8", () => {
  it.each([
    ["an overlong zero", "c080"],
    ["an overlong slash", "e080af"],
    ["a surrogate", "eda080"],
    ["a pair of surrogates", "eda0bdedb880"],
    ["a code point above U+10FFFF", "f4908080"],
    ["a lone continuation byte", "80"],
    ["a truncated sequence", "e282"],
    ["a byte that never occurs", "ff"],
  ])("refuses %s", (_, hex) => {
    expect(parseUtf8(Uint8Array.fromHex(hex))).toBeNull();
  });

  it("keeps a byte order mark, so that it can be refused", () => {
    expect(parseUtf8(Uint8Array.fromHex("efbbbf7b7d"))).toBe("\ufeff{}");
  });

  it("reads what it writes", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(parseUtf8(utf8(text))).toBe(text);
      }),
    );
  });
});

describe("byte strings", () => {
  it("are joined and compared byte for byte", () => {
    expect(concatBytes()).toEqual(new Uint8Array());
    expect(concatBytes(utf8("a"), new Uint8Array(), utf8("bc"))).toEqual(utf8("abc"));
    expect(joinUtf8([])).toEqual(new Uint8Array());
    expect(joinUtf8(["a\u20ac", utf8("b"), "", "\u{1f600}c"])).toEqual(utf8("a\u20acb\u{1f600}c"));
    expect(equalBytes(utf8("abc"), utf8("abc"))).toBe(true);
    expect(equalBytes(utf8("abc"), utf8("abd"))).toBe(false);
    expect(equalBytes(utf8("abc"), utf8("ab"))).toBe(false);
  });
});
