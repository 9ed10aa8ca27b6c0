import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { boundaryOf, MultipartFault, MultipartReader } from "./multipart.ts";

/** The parts of a body that arrives in pieces of that many bytes. */
function partsOf(
  body: string | Buffer,
  piece = 1_000,
  boundary = "b",
): readonly (readonly [string, string])[] {
  const reader = new MultipartReader(boundary);
  const parts: [string, string][] = [];
  const bytes = Buffer.from(body as string, "latin1");
  for (let at = 0; at < bytes.length; at += piece) {
    for (const event of reader.take(bytes.subarray(at, at + piece))) {
      if (event.kind === "part") parts.push([event.name, ""]);
      else (parts.at(-1) as [string, string])[1] += Buffer.from(event.bytes).toString("latin1");
    }
  }
  reader.end();
  return parts;
}

const part = (name: string, value: string, more = ""): string =>
  `--b\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
const end = "--b--\r\n";

describe("a multipart body", () => {
  it("is its parts, whatever pieces it arrives in (property)", () => {
    const value = fc.string({
      unit: fc.constantFrom("\r", "\n", "-", "b", "x", "\u0000", "\u00ff"),
      maxLength: 40,
    });
    const form = fc.array(fc.tuple(fc.constantFrom("one", "two", "file"), value), {
      minLength: 1,
      maxLength: 5,
    });
    fc.assert(
      fc.property(form, fc.integer({ min: 1, max: 50 }), (parts, piece) => {
        fc.pre(parts.every(([, each]) => !`\r\n${each}\r\n`.includes("\r\n--b")));
        const body = parts.map(([name, each]) => part(name, each)).join("") + end;
        expect(partsOf(body, piece)).toEqual(parts);
      }),
      { numRuns: 500 },
    );
  });

  it("may name files and media types, and may end without a line end", () => {
    const typed = part("file", "x", '; filename="a b.ndjson"\r\nContent-Type: application/x-ndjson');
    expect(partsOf(`${typed}--b--`)).toEqual([["file", "x"]]);
  });

  it("says what a file is said to be", () => {
    const said = '; filename="Auszug für Ä%22.pdf"\r\nContent-Type: application/pdf';
    const [first, , second] = new MultipartReader("b").take(
      Buffer.from(`${part("file", "x", said)}${part("a", "1")}${end}`),
    );
    const of = { filename: "Auszug für Ä%22.pdf", mediaType: "application/pdf" };
    expect(first).toEqual({ kind: "part", name: "file", ...of });
    expect(second).toEqual({ kind: "part", name: "a", filename: null, mediaType: null });
  });

  it("keeps a delimiter of another boundary as data", () => {
    expect(partsOf(`${part("a", "\r\n--c\r\n--\r\n-b")}${end}`)).toEqual([["a", "\r\n--c\r\n--\r\n-b"]]);
  });

  it.each([
    ["nothing", ""],
    ["text before the first delimiter", `hello\r\n${part("a", "1")}${end}`],
    ["a line end before the first delimiter", `\r\n${part("a", "1")}${end}`],
    ["text after the last delimiter", `${part("a", "1")}${end}more`],
    ["another body after the last delimiter", `${part("a", "1")}${end}${part("a", "2")}${end}`],
    ["no last delimiter", part("a", "1")],
    ["half of the last delimiter", `${part("a", "1")}--b-`],
    ["a body cut off in a head", "--b\r\nContent-Disp"],
    ["no parts at all", "--b--\r\n"],
    ["a boundary inside the data", `${part("a", "1\r\n--bolt\r\n2")}${end}`],
    ["white space behind a delimiter", `--b \r\n${part("a", "1").slice(5)}${end}`],
    ["bare line feeds", part("a", "1").replaceAll("\r\n", "\n") + end],
    ["a part without a disposition", `--b\r\nContent-Type: text/plain\r\n\r\n1\r\n${end}`],
    ["a part without a head", `--b\r\n\r\n1\r\n${end}`],
    ["a part without a name", `--b\r\nContent-Disposition: form-data\r\n\r\n1\r\n${end}`],
    [
      "a part that is no member of a form",
      `--b\r\nContent-Disposition: attachment; name="a"\r\n\r\n1\r\n${end}`,
    ],
    ["a part with two names", part("a", "1", '\r\nContent-Disposition: form-data; name="b"') + end],
    ["a part with an escaped name", part('a\\"', "1") + end],
    ["a part in another encoding", part("a", "1", "\r\nContent-Transfer-Encoding: base64") + end],
    ["a part with an unknown field", part("a", "1", "\r\nX-Other: 1") + end],
    ["a folded field", part("a", "1", '\r\n ; filename="x"') + end],
    ["a head of 5,000 bytes", part("a", "1", `; filename="${"x".repeat(5_000)}"`) + end],
    ["a head that never ends", `--b\r\n${"x".repeat(10_000)}`],
  ])("with %s is refused, whatever pieces it arrives in", (_what, body) => {
    for (const piece of [1, 3, 10_000]) expect(() => partsOf(body, piece)).toThrow(MultipartFault);
  });

  it.each([4_093, 4_094, 4_095, 4_096, 4_097])(
    "with a head of %i bytes is the same, whatever pieces it arrives in",
    (length) => {
      const head = 'Content-Disposition: form-data; name="a"; filename="'.padEnd(length - 1, "x");
      const body = `--b\r\n${head}"\r\n\r\n1\r\n${end}`;
      for (const piece of [1, 2, 3, 10_000]) {
        if (length > 4_096) expect(() => partsOf(body, piece)).toThrow(MultipartFault);
        else expect(partsOf(body, piece)).toEqual([["a", "1"]]);
      }
    },
  );

  it("is not kept in memory while it arrives (M3)", () => {
    const reader = new MultipartReader("b");
    const take = (bytes: string) => [...reader.take(Buffer.from(bytes, "latin1"))];
    take('--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n');
    let kept = 0;
    for (let piece = 0; piece < 50; piece += 1) {
      const bytes = take("x".repeat(1_000)).reduce(
        (sum, each) => sum + ("bytes" in each ? each.bytes.length : 0),
        0,
      );
      kept += 1_000 - bytes;
      expect(kept).toBeLessThan(20);
    }
  });
});

describe("the boundary of a body", () => {
  it.each([
    ["multipart/form-data; boundary=----WebKitFormBoundaryABC", "----WebKitFormBoundaryABC"],
    ['Multipart/Form-Data;boundary="a b(c)"', "a b(c)"],
    [`multipart/form-data; boundary=${"x".repeat(70)}`, "x".repeat(70)],
    ["multipart/form-data", null],
    ["multipart/form-data; boundary=", null],
    ["multipart/form-data; boundary=a; boundary=b", null],
    ["multipart/form-data; charset=utf-8; boundary=a", "a"],
    ['multipart/form-data;boundary=a ; charset="utf-8"', "a"],
    ['multipart/form-data; note="x; boundary=b"; boundary=a', "a"],
    ["multipart/form-data; charset=utf-8", null],
    ["multipart/form-data; charset; boundary=a", null],
    ["multipart/form-data; boundary=a;", null],
    ["multipart/form-data; boundary=a; BOUNDARY=a", null],
    ['multipart/form-data; boundary="a "', null],
    [`multipart/form-data; boundary=${"x".repeat(71)}`, null],
    ["multipart/mixed; boundary=a", null],
    ["application/x-ndjson", null],
    [undefined, null],
  ])("of %s is %s", (type, boundary) => {
    expect(boundaryOf(type)).toBe(boundary);
  });
});
