import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { csvRows, parseCsv } from "./csv.ts";

/** The text in pieces of `size` characters. */
async function* cut(text: string, size: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}

describe("CSV", () => {
  it("knows the line of each row, through quotes, line breaks and both line ends", () => {
    const text = 'a,b\r\n1,"x ""y"", z"\n\n2,"two\nlines"\n3,\n';
    expect(parseCsv(text)).toMatchObject({
      ok: true,
      rows: [
        { line: 1, fields: ["a", "b"] },
        { line: 2, fields: ["1", 'x "y", z'] },
        { line: 4, fields: ["2", "two\nlines"] },
        { line: 6, fields: ["3", ""] },
      ],
    });
  });

  it("refuses a quoted field that does not end, or goes on after its end", () => {
    expect(parseCsv('a\n"x')).toMatchObject({ ok: false, line: 2 });
    expect(parseCsv('a\n"x"y\n')).toMatchObject({ ok: false, line: 2 });
  });

  it("takes a quote within an unquoted field as text, and counts a CRLF within a quoted one once", () => {
    expect(parseCsv('a\tb\r\n5" nail\t"two\r\nlines"\r\nx\ty\r\n', "\t")).toMatchObject({
      ok: true,
      rows: [
        { line: 1, fields: ["a", "b"] },
        { line: 2, fields: ['5" nail', "two\r\nlines"] },
        { line: 4, fields: ["x", "y"] },
      ],
    });
  });

  it("knows a row that nothing ends, and a quote that closes nothing", () => {
    const flags = (text: string) => {
      const read = parseCsv(text);
      return read.ok ? read.rows.map(({ isCut, hasStrayQuote }) => [isCut, hasStrayQuote]) : read.detail;
    };
    expect(flags('a,"b",5" c\n"24", black",c\nd,e')).toEqual([
      [false, false],
      [false, true],
      [true, false],
    ]);
  });

  it("gives back whatever was written", () => {
    const row = fc.array(fc.string({ unit: "grapheme" }), { minLength: 2, maxLength: 5 });
    fc.assert(
      fc.property(
        fc.array(row, { minLength: 1, maxLength: 8 }),
        fc.constantFrom("\n", "\r\n"),
        (rows, end) => {
          const quote = (field: string): string => `"${field.replaceAll('"', '""')}"`;
          const text = rows.map((fields) => fields.map(quote).join(",")).join(end);
          const parsed = parseCsv(text);
          expect(parsed.ok && parsed.rows.map(({ fields }) => fields)).toEqual(rows);
        },
      ),
    );
  });

  it("reads the same rows, or refuses at the same line, however the text is cut into pieces", async () => {
    const characters = fc.string({ unit: fc.constantFrom("a", '"', ",", "\n", "\r", "\r\n"), maxLength: 24 });
    await fc.assert(
      fc.asyncProperty(characters, fc.integer({ min: 1, max: 5 }), async (text, size) => {
        const whole = parseCsv(text);
        const read = await Array.fromAsync(csvRows(cut(text, size), ",", 100)).then(
          (rows) => ({ ok: true, rows }),
          ({ place: line, message: detail }) => ({ ok: false, line, detail }),
        );
        expect(read).toEqual(whole);
      }),
    );
  });

  it("refuses a row that goes on for too long", async () => {
    const reading = Array.fromAsync(csvRows(cut(`a\n"${"x".repeat(200)}`, 10), ",", 100));
    await expect(reading).rejects.toMatchObject({ name: "FeedError", place: 2 });
  });
});
