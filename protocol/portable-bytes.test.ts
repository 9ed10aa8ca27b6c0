import fc from "fast-check";
import { expect, it } from "vitest";
import {
  decodeBase64,
  decodeHex,
  encodeBase64,
  encodeHex,
  parseBase64,
  parseBase64Url,
  parseHex,
  toBase64,
  toBase64Url,
  toHex,
} from "./bytes.ts";

it("writes and reads any bytes as the platform does", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      expect(encodeBase64(bytes, "base64")).toBe(toBase64(bytes));
      expect(encodeBase64(bytes, "base64url")).toBe(toBase64Url(bytes));
      expect(encodeHex(bytes)).toBe(toHex(bytes));
      expect(decodeBase64(toBase64(bytes), "base64")).toEqual(bytes);
      expect(decodeHex(toHex(bytes))).toEqual(parseHex(toHex(bytes)));
    }),
  );
});

it("refuses what the platform refuses", () => {
  const texts = fc.string({
    unit: fc.constantFrom("A", "B", "g", "Q", "w", "=", "+", "/", "-", "_"),
    maxLength: 9,
  });
  fc.assert(
    fc.property(texts, (text) => {
      const padded = text + "=".repeat((4 - (text.length % 4)) % 4);
      expect(decodeBase64(text, "base64")).toEqual(parseBase64(text));
      if (!text.includes("=") && text.length % 4 !== 1)
        expect(decodeBase64(padded, "base64url")).toEqual(parseBase64Url(text));
    }),
    { numRuns: 2_000 },
  );
});
