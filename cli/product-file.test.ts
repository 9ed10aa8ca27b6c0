import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rubbish } from "../protocol/rubbish.fixture.ts";
import { parseCsv } from "./csv.ts";
import { type FileFormat, parseProductFile } from "./product-file.ts";

const plain = { format: null, map: new Map<string, string>(), set: new Map<string, string>() };
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function textsOf(name: string, contents: string, options: Partial<typeof plain> = {}) {
  const file = parseProductFile(name, bytes(contents), { ...plain, ...options });
  if (!file.ok) throw new Error(JSON.stringify(file.faults));
  return file.records.map((record) => [record.place, new TextDecoder().decode(record.bytes)] as const);
}

function faultsOf(name: string, contents: string, options: Partial<typeof plain> = {}) {
  const file = parseProductFile(name, bytes(contents), { ...plain, ...options });
  return file.ok ? [] : file.faults;
}

describe("CSV", () => {
  it("knows the line of each row, through quotes, line breaks and both line ends", () => {
    const text = 'a,b\r\n1,"x ""y"", z"\n\n2,"two\nlines"\n3,\n';
    expect(parseCsv(text)).toEqual({
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
    expect(parseCsv('a\tb\r\n5" nail\t"two\r\nlines"\r\nx\ty\r\n', "\t")).toEqual({
      ok: true,
      rows: [
        { line: 1, fields: ["a", "b"] },
        { line: 2, fields: ['5" nail', "two\r\nlines"] },
        { line: 4, fields: ["x", "y"] },
      ],
    });
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
});

describe("a file of products", () => {
  const product = { business_product_id: "1", product_name: "Loaf" };
  const exact = '{"business_product_id":"1","product_name":"Loaf","schema":"svc/products/1"}';

  it("is read as NDJSON, a JSON array or gzip, to the same bytes", () => {
    expect(textsOf("p.ndjson", `\n${JSON.stringify(product)}\n\n`)).toEqual([[2, exact]]);
    expect(textsOf("p.json", JSON.stringify([product]))).toEqual([[1, exact]]);
    expect(
      textsOf("p.jsonl", `\uFEFF${JSON.stringify({ product_name: "Loaf", business_product_id: "1" })}`),
    ).toEqual([[1, exact]]);
    const packed = parseProductFile("p.ndjson.gz", new Uint8Array(gzipSync(JSON.stringify(product))), plain);
    expect(packed.ok && new TextDecoder().decode(packed.records[0]?.bytes)).toBe(exact);
  });

  it("keeps a schema that a record names", () => {
    expect(textsOf("p.ndjson", '{"schema":"svc/products/9"}')).toEqual([[1, '{"schema":"svc/products/9"}']]);
  });

  it("tells every line that is not JSON, and sends nothing", () => {
    const faults = faultsOf("p.ndjson", '{"a":1}\n{"a":1,"a":2}\n{\n');
    expect(faults.map(({ place }) => place)).toEqual([2, 3]);
    expect(faultsOf("p.json", "[]")).toHaveLength(1);
    expect(faultsOf("p.ndjson", "\n")).toHaveLength(1);
    expect(parseProductFile("p.ndjson", Uint8Array.of(0xff, 0xfe), plain).ok).toBe(false);
  });

  it("tells the line of a record that is too large to be sent", () => {
    const large = JSON.stringify({ short_description: "x".repeat(153_600) });
    expect(faultsOf("p.ndjson", `{}\n${large}`)).toMatchObject([{ place: 2 }]);
  });

  it("turns columns into a product", () => {
    const csv = [
      "sku,product_name,tags,on_sale,price_US,price_currency_US,price_CA,price_currency_CA,note",
      'A1,"Loaf, white",bread | new,yes,4.20,USD,,,',
      "A2,Rye,,0,5.10,USD,6.90,CAD,x",
    ].join("\n");
    const options = {
      map: new Map([
        ["sku", "business_product_id"],
        ["note", ""],
      ]),
      set: new Map([["language", "en"]]),
    };
    const [first, second] = textsOf("p.csv", csv, options).map(([place, text]) => ({
      place,
      record: JSON.parse(text) as unknown,
    }));
    expect(first).toEqual({
      place: 2,
      record: {
        schema: "svc/products/1",
        language: "en",
        business_product_id: "A1",
        product_name: "Loaf, white",
        tags: ["bread", "new"],
        on_sale: true,
        countries: ["US"],
        prices: [{ country: "US", currency: "USD", amount: "4.20" }],
      },
    });
    expect(second?.record).toMatchObject({ tags: [], on_sale: false, countries: ["CA", "US"] });
  });

  it("reads semicolons and tabs", () => {
    expect(textsOf("p.csv", "business_product_id;brand\n1;Salt, Marsh")[0]?.[1]).toContain(
      '"brand":"Salt, Marsh"',
    );
    const format: FileFormat = "tsv";
    expect(textsOf("p.txt", "business_product_id\tbrand\n1\tX", rubbish({ format }))[0]?.[1]).toContain(
      '"brand":"X"',
    );
  });

  it("names a column that no product has, and the nearest that it has", () => {
    const [fault] = faultsOf("p.csv", "product_nam\nLoaf");
    expect(fault?.detail).toContain("product_name");
    expect(faultsOf("p.csv", "brand\nX", { set: new Map([["brnd", "Y"]]) })).toHaveLength(1);
  });

  it("tells the line of a row that has other columns, or a cell that cannot be", () => {
    expect(faultsOf("p.csv", "brand,on_sale\nX\nX,maybe\nX,true,1")).toMatchObject([
      { place: 2 },
      { place: 3, detail: expect.stringContaining("on_sale") },
      { place: 4 },
    ]);
    expect(faultsOf("p.csv", "price_US\n4.20")).toMatchObject([
      { place: 2, detail: expect.stringContaining("price_currency_US") },
    ]);
  });
});
