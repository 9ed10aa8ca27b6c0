import { describe, expect, test } from "vitest";
import { parseUtf8, utf8 } from "../bytes.ts";
import {
  entryBytes,
  formatBundle,
  type LogEntry,
  leafTypes,
  parseBundle,
  parseBundleEntry,
  parseEntry,
} from "./leaves.ts";

const leaf = `sha256:${"ab".repeat(32)}`;
const entry: LogEntry = { leaf, leaf_type: "seal", subject: "0198c1de-0000-7000-8000-000000000001" };

describe("an entry", () => {
  test("is one line of canonical JSON", () => {
    expect(parseUtf8(entryBytes(entry))).toBe(
      `{"leaf":"${leaf}","leaf_type":"seal","subject":"0198c1de-0000-7000-8000-000000000001","v":1}`,
    );
  });

  test("of each type is read back", () => {
    for (const leaf_type of leafTypes) {
      const each = { ...entry, leaf_type, subject: "eu-west1/202611220000-x_1" };
      expect(parseEntry(entryBytes(each))).toEqual(each);
    }
  });

  test.each([
    ["another order", `{"leaf_type":"seal","leaf":"${leaf}","subject":"x","v":1}`],
    ["white space", `{"leaf": "${leaf}","leaf_type":"seal","subject":"x","v":1}`],
    ["an unknown type", `{"leaf":"${leaf}","leaf_type":"row","subject":"x","v":1}`],
    ["another version", `{"leaf":"${leaf}","leaf_type":"seal","subject":"x","v":2}`],
    ["a short hash", `{"leaf":"sha256:ab","leaf_type":"seal","subject":"x","v":1}`],
    ["an escape", `{"leaf":"${leaf}","leaf_type":"seal","subject":"\\u0078","v":1}`],
    ["a further member", `{"leaf":"${leaf}","leaf_type":"seal","subject":"x","v":1,"w":1}`],
    ["nothing", ""],
  ])("in another form is no entry: %s", (_what, text) => {
    expect(parseEntry(utf8(text))).toBeNull();
  });

  test("that is not UTF-8 is no entry", () => {
    expect(parseEntry(Uint8Array.of(0xff))).toBeNull();
  });
});

describe("a bundle", () => {
  const entries = [utf8("a"), new Uint8Array(), new Uint8Array(300).fill(1)];

  test("is read back", () => {
    const bundle = formatBundle(entries);
    expect([...bundle.subarray(0, 5)]).toEqual([0, 1, 97, 0, 0]);
    expect(parseBundle(bundle, 3)).toEqual(entries);
  });

  test("gives one entry as it gives all, and none outside itself or of what is no bundle", () => {
    const bundle = formatBundle(entries);
    expect(entries.map((_, at) => parseBundleEntry(bundle, 3, at))).toEqual(entries);
    for (const at of [-1, 3]) expect(parseBundleEntry(bundle, 3, at)).toBeNull();
    for (const width of [2, 4]) expect(parseBundleEntry(bundle, width, 0)).toBeNull();
    expect(parseBundleEntry(bundle.subarray(0, -1), 3, 0)).toBeNull();
  });

  test("of another width, cut off or too long is refused", () => {
    const bundle = formatBundle(entries);
    expect(parseBundle(bundle, 2)).toBeNull();
    expect(parseBundle(bundle, 4)).toBeNull();
    for (let end = 0; end < bundle.length; end += 1)
      expect(parseBundle(bundle.subarray(0, end), 3)).toBeNull();
    expect(parseBundle(Uint8Array.of(...bundle, 0), 3)).toBeNull();
  });

  test("takes no entry whose length it cannot say", () => {
    expect(() => formatBundle([new Uint8Array(65_536)])).toThrow(RangeError);
  });
});
