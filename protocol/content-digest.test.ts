import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sha256, toBase64, utf8 } from "./bytes.ts";
import { contentDigest, parseContentDigest } from "./http-signature.ts";

/** Examples from RFC 9530 appendix D.1 (the content has a final line feed) and RFC 9421 §2.5 (it has none). */
const published = [
  ['{"hello": "world"}\n', "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"],
  ['{"hello": "world"}', "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:"],
] as const;

describe("Content-Digest", () => {
  it.each(published)("of %j is the published one", (content, header) => {
    expect(contentDigest(utf8(content))).toBe(header);
    expect(parseContentDigest(header)).toEqual(sha256(utf8(content)));
  });

  it("is read as it was made, among other algorithms and in any dictionary form", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (content) => {
        const digest = new Uint8Array(createHash("sha256").update(content).digest());
        const header = contentDigest(content);
        for (const form of [
          header,
          `sha-512=:AA==:, ${header}`,
          `${header},\tmd5=:AA==:`,
          ` ${header}  `,
          `${header};q=1`,
        ]) {
          expect(parseContentDigest(form)).toEqual(digest);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("is not looked at beyond 8,192 characters in another form than the usual", () => {
    const digest = contentDigest(new Uint8Array());
    expect(parseContentDigest(`x="${"a".repeat(8_192 - digest.length - 6)}", ${digest}`)).not.toBeNull();
    expect(parseContentDigest(`x="${"a".repeat(8_193 - digest.length - 6)}", ${digest}`)).toBeNull();
  });

  it("is made by the function given", () => {
    expect(contentDigest(utf8("a"), () => new Uint8Array(32))).toBe(`sha-256=:${"A".repeat(43)}=:`);
  });

  it.each([
    ["nothing", ""],
    ["another algorithm only", `sha-512=:${toBase64(new Uint8Array(64))}:`],
    ["a digest of 31 bytes", `sha-256=:${toBase64(new Uint8Array(31))}:`],
    ["a text", `sha-256="${toBase64(new Uint8Array(32))}"`],
    ["a token", "sha-256=abc"],
    ["a flag", "sha-256"],
    ["an inner list", `sha-256=(:${toBase64(new Uint8Array(32))}:)`],
    ["upper case", `SHA-256=:${toBase64(new Uint8Array(32))}:`],
    ["no colons", `sha-256=${toBase64(new Uint8Array(32))}`],
    ["a dictionary that breaks off", `sha-256=:${toBase64(new Uint8Array(32))}:,`],
    ["the old Digest header's form", `SHA-256=${toBase64(new Uint8Array(32))}`],
  ])("has no SHA-256 in %s", (_, header) => {
    expect(parseContentDigest(header)).toBeNull();
  });
});
