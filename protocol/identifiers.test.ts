import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatHash, hashOf, parseHash, utf8 } from "./bytes.ts";
import {
  collectionNames,
  formatTimestamp,
  isCollectionName,
  isCountry,
  isDecimal,
  isHash,
  isKeyId,
  isPushId,
  isRecordId,
  isTimestamp,
  isUuidV4,
  parseTimestamp,
  pushIdOf,
  recordIdOf,
  recordType,
} from "./identifiers.ts";

const ofAbc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

describe("hashes", () => {
  it("are those of FIPS 180-4", () => {
    expect(hashOf(utf8("abc"))).toBe(ofAbc);
    expect(formatHash(parseHash(ofAbc) ?? new Uint8Array())).toBe(ofAbc);
    expect(() => formatHash(new Uint8Array(31))).toThrow(RangeError);
  });

  it.each([
    ofAbc.toUpperCase(),
    ofAbc.slice(7),
    ofAbc.slice(0, -1),
    `${ofAbc}0`,
    `${ofAbc}\n`,
    "sha512:",
    "",
  ])("have one form, which %j is not", (text) => {
    expect(parseHash(text)).toBeNull();
    expect(isHash(text)).toBe(false);
  });

  it("are made by the function given", () => {
    expect(hashOf(utf8("abc"), () => new Uint8Array(32))).toBe(`sha256:${"0".repeat(64)}`);
    const native = (bytes: Uint8Array) => new Uint8Array(createHash("sha256").update(bytes).digest());
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(hashOf(bytes)).toBe(hashOf(bytes, native));
      }),
    );
  });
});

describe("record ids", () => {
  it("spell the first 130 bits of the keyed hash in base32", () => {
    expect(recordIdOf("products", new Uint8Array(17))).toBe(`svc_${"a".repeat(26)}`);
    expect(recordIdOf("events", new Uint8Array(32).fill(255))).toBe(`evt_${"7".repeat(26)}`);
    // RFC 4648 §10: BASE32("foobar") is MZXW6YTBOI.
    expect(recordIdOf("jobs", utf8("foobar-----------"))).toMatch(/^job_mzxw6ytbo/);
    expect(() => recordIdOf("products", new Uint8Array(16))).toThrow(RangeError);
  });

  it("differ with every one of those bits", () => {
    for (let bit = 0; bit < 130; bit += 1) {
      const mac = new Uint8Array(17);
      mac[bit >> 3] = 128 >> (bit & 7);
      expect(recordIdOf("products", mac)).not.toBe(recordIdOf("products", new Uint8Array(17)));
    }
  });

  it("name their type by their prefix", () => {
    const kinds = [...collectionNames, "ads", "ai_policy"] as const;
    fc.assert(
      fc.property(fc.constantFrom(...kinds), fc.uint8Array({ minLength: 17, maxLength: 32 }), (kind, mac) => {
        expect(recordType(recordIdOf(kind, mac))).toBe(kind);
        expect(isRecordId(recordIdOf(kind, mac))).toBe(true);
      }),
    );
  });

  it.each([
    `svc_${"a".repeat(25)}`,
    `svc_${"a".repeat(27)}`,
    `svc_${"1".repeat(26)}`,
    `svc_${"A".repeat(26)}`,
    `xyz_${"a".repeat(26)}`,
    `svc_${"a".repeat(26)}\n`,
    "a".repeat(30),
  ])("have one form, which %j is not", (text) => {
    expect(isRecordId(text)).toBe(false);
    expect(recordType(text)).toBeNull();
  });
});

describe("push ids", () => {
  const business = "0b9e1a52-6f0e-4c55-9d0c-3f4f4b1f8a11";

  it("follow from the business and the sealed batch alone", () => {
    expect(pushIdOf(business, utf8("{}"))).toBe(pushIdOf(business, utf8("{}")));
    expect(pushIdOf(business, utf8("{}"))).not.toBe(pushIdOf(business, utf8("[]")));
    expect(pushIdOf(business, utf8("{}"))).not.toBe(pushIdOf(business.replace("0b", "1b"), utf8("{}")));
    expect(isPushId(pushIdOf(business, utf8("{}")))).toBe(true);
  });

  it("have one form", () => {
    expect(isPushId(`bat_${"0".repeat(24)}`)).toBe(true);
    for (const text of [`bat_${"0".repeat(23)}`, `bat_${"G".repeat(24)}`, `bup_${"0".repeat(24)}`]) {
      expect(isPushId(text)).toBe(false);
    }
  });
});

describe("timestamps", () => {
  it.each([
    ["1970-01-01T00:00:00.000Z", 0],
    ["2026-10-05T12:34:56.789Z", 1791203696789],
    ["2024-02-29T23:59:59.999Z", 1709251199999],
    ["0000-01-01T00:00:00.000Z", -62167219200000],
    ["9999-12-31T23:59:59.999Z", 253402300799999],
  ])("%s is an instant", (text, ms) => {
    expect(parseTimestamp(text)).toBe(ms);
    expect(formatTimestamp(ms)).toBe(text);
  });

  it.each([
    "2026-10-05T12:34:56Z",
    "2026-10-05T12:34:56.78Z",
    "2026-10-05T12:34:56.7890Z",
    "2026-10-05T12:34:56.789+00:00",
    "2026-10-05T12:34:56.789z",
    "2026-10-05 12:34:56.789Z",
    "2026-10-05",
    "2025-02-29T00:00:00.000Z",
    "2026-02-30T00:00:00.000Z",
    "2026-13-01T00:00:00.000Z",
    "2026-10-05T24:00:00.000Z",
    "2026-10-05T23:59:60.000Z",
    "+012026-10-05T00:00:00.000Z",
    "2026-10-05T12:34:56.789Z ",
    "",
  ])("%j is none", (text) => {
    expect(isTimestamp(text)).toBe(false);
  });

  it("are not written beyond the year 9999", () => {
    expect(() => formatTimestamp(253402300800000)).toThrow(RangeError);
    expect(() => formatTimestamp(-62167219200001)).toThrow(RangeError);
    expect(() => formatTimestamp(Number.NaN)).toThrow(RangeError);
  });
});

describe("other formats", () => {
  it.each([
    ["UUID version 4", isUuidV4, "0b9e1a52-6f0e-4c55-9d0c-3f4f4b1f8a11", true],
    ["UUID in upper case", isUuidV4, "0B9E1A52-6F0E-4C55-9D0C-3F4F4B1F8A11", false],
    ["UUID version 1", isUuidV4, "0b9e1a52-6f0e-1c55-9d0c-3f4f4b1f8a11", false],
    ["UUID of another variant", isUuidV4, "0b9e1a52-6f0e-4c55-cd0c-3f4f4b1f8a11", false],
    ["thumbprint", isKeyId, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k", true],
    ["thumbprint with trailing bits", isKeyId, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4l", false],
    ["thumbprint too short", isKeyId, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4", false],
    ["country", isCountry, "GB", true],
    ["country in lower case", isCountry, "gb", false],
    ["country of three letters", isCountry, "GBR", false],
    ["money", isDecimal, "12.50", true],
    ["money without a point", isDecimal, "0", true],
    ["money with a leading zero", isDecimal, "012.50", false],
    ["money with a sign", isDecimal, "-1.00", false],
    ["money with an exponent", isDecimal, "1e3", false],
    ["money with nothing after the point", isDecimal, "1.", false],
    ["money with nothing before the point", isDecimal, ".5", false],
    ["collection", isCollectionName, "business_files", true],
    ["collection as in paths", isCollectionName, "business-files", false],
    ["collection that every object has", isCollectionName, "constructor", false],
  ])("%s", (_, accepts, text, expected) => {
    expect(accepts(text)).toBe(expected);
    expect(accepts(`${text}\n`)).toBe(false);
  });
});
