import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { concatBytes, toBase64, utf8 } from "../../protocol/bytes.ts";
import { bulkRecordsMax, recordCharactersMax } from "../../protocol/limits.ts";
import { isRefused, type Refused } from "../answer.ts";
import { RecordLines } from "./bulk-file.ts";

/** Reads a file that arrives in pieces of that many bytes. */
function read(
  file: string | Uint8Array,
  piece = 7,
): { readonly records: number; readonly fault: Refused | null } {
  const bytes = typeof file === "string" ? utf8(file) : file;
  const lines = new RecordLines();
  for (let at = 0; at < bytes.length; at += piece) {
    const fault = [...lines.take(bytes.subarray(at, at + piece))].find(isRefused);
    if (fault !== undefined) return { records: lines.count, fault };
  }
  const last = lines.end();
  return { records: lines.count, fault: "kind" in last ? last : null };
}

const line = toBase64(utf8('{"a":1}'));

describe("the lines of a bulk file", () => {
  it("are the records, whatever pieces they arrive in (property)", () => {
    const records = fc.array(fc.uint8Array({ minLength: 1, maxLength: 60 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(records, fc.integer({ min: 1, max: 100 }), fc.constantFrom("", "\n"), (of, piece, last) => {
        const file = utf8(of.map(toBase64).join("\n") + last);
        const lines = new RecordLines();
        const found: Uint8Array[] = [];
        for (let at = 0; at < file.length; at += piece) {
          for (const taken of lines.take(file.subarray(at, at + piece))) {
            if (isRefused(taken)) throw new Error(taken.problem.detail);
            found.push(taken);
          }
        }
        const rest = lines.end();
        if ("kind" in rest) throw new Error(rest.problem.detail);
        expect(rest).toHaveLength(last === "" ? 1 : 0);
        expect([...found, ...rest]).toEqual(of);
      }),
    );
  });

  it.each([
    ["an empty file", "", "file_empty", 0],
    ["a last line that was cut off", `${line}\n${line.slice(0, -1)}`, "line_not_base64", 1],
    ["a last line with CR alone", `${line}\n${line}\r`, "line_crlf", 1],
    ["CRLF", `${line}\n${line}\r\n`, "line_crlf", 1],
    ["a lone CR LF", "\r\n", "line_crlf", 0],
    ["an empty line", `${line}\n\n${line}\n`, "line_empty", 1],
    ["an empty last line", `${line}\n\n`, "line_empty", 1],
    ["JSON instead of base64", `${line}\n{"a":1}\n`, "line_not_base64", 1],
    ["base64 without its padding", "YQ\n", "line_not_base64", 0],
    ["base64url", "_-8=\n", "line_not_base64", 0],
    ["white space in a line", `${line} \n`, "line_not_base64", 0],
    ["a byte order mark", `\uFEFF${line}\n`, "line_not_base64", 0],
  ])("%s is refused by name, with the index of its line", (_what, file, reason, index) => {
    expect(read(file)).toMatchObject({
      fault: { problem: { code: "request_invalid", status: 400, reason, pointer: `/file/${index}` } },
    });
  });

  it("of 204,800 characters are taken, and one character more is refused before it is kept", () => {
    const longest = "A".repeat(recordCharactersMax);
    expect(read(`${longest}\n`, 65_536)).toEqual({ records: 1, fault: null });
    expect(read(longest, 65_536)).toEqual({ records: 1, fault: null });
    const refusal = { problem: { code: "record_too_large", status: 413, pointer: "/file/1" } };
    expect(read(`${line}\n${longest}A\n`, 65_536).fault).toMatchObject(refusal);
    expect(read(`${line}\n${longest}A`, 65_536).fault).toMatchObject(refusal);
    expect(read(`${line}\n${"A".repeat(10 * recordCharactersMax)}`, 65_536).fault).toMatchObject(refusal);
  });

  it("that are far too long are refused for it, whatever their end is and whatever pieces they arrive in", () => {
    for (const piece of [65_536, 1_000_000])
      expect(read(`${"A".repeat(recordCharactersMax + 1)}\r\n`, piece).fault).toMatchObject({
        problem: { reason: "line_too_long", pointer: "/file/0" },
      });
  });

  it("are at most 100,000", () => {
    const full = utf8("YQ==\n".repeat(bulkRecordsMax));
    expect(read(full, 65_536)).toEqual({ records: bulkRecordsMax, fault: null });
    for (const more of ["YQ==\n", "YQ=="])
      expect(read(concatBytes(full, utf8(more)), 65_536)).toMatchObject({
        fault: { problem: { reason: "too_many_records", pointer: `/file/${bulkRecordsMax}` } },
      });
  });
});
