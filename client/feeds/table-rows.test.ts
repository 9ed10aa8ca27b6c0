import { describe, expect, it } from "vitest";
import { itemsOf, recordOf } from "./feed.fixture.ts";
import type { FeedOptions } from "./read-feed.ts";

describe("a table", () => {
  const brands = async (contents: string | Uint8Array, options: FeedOptions = {}) =>
    (await itemsOf(contents, options)).map(
      (item) => (recordOf(item) as { brand?: string } | null)?.brand ?? null,
    );

  it("may declare its separator, have others, and any line ends", async () => {
    expect(await brands("sep=;\r\nbusiness_product_id;brand\r\n1;A\r\n")).toEqual(["A"]);
    expect(await brands("business_product_id|brand\n1|A\n")).toEqual(["A"]);
    expect(await brands("business_product_id;brand\r1;A, B\r2;C")).toEqual(["A, B", "C"]);
  });

  it("is refused for a field of the last column that holds half of another row", async () => {
    const header = "business_product_id,short_description,brand,language,channel,gtin,vertical,category,tags";
    const reading = itemsOf(`${header}\n1,x,A,,,,,,"b\n22,y,B,c,d"\n`);
    await expect(reading).rejects.toMatchObject({ message: expect.stringContaining("not closed") });
  });

  it("keeps text over several lines, with commas, a field that it is", async () => {
    const text = "One, two, three,\nfour, five, six\nseven, eight, nine";
    const rows = await itemsOf(`business_product_id,short_description,brand,tags\n1,"${text}",A,b\n`);
    expect(recordOf(rows[0])).toMatchObject({ short_description: text, brand: "A" });
  });

  it.each([
    ["of two rows", '1,"x,A,b\n2,y",B,c'],
    ["of three rows", '1,"x,A,b\n2,y,B,c\n3,z",C,d'],
    ["of a row that lacks its end", '1,"x\n2,z,B,y"'],
    ["of the last column", '1,x,A,"b\n2,y,B,c"'],
    ["of rows with empty fields between", '1,"x,,b\n2,y",,c'],
    ["of rows that end with empty fields", '1,"x,,\n2,y",B,c'],
    ["of a row that lacks its end, in the second column", '1,"x\n2,z",B,c'],
    ["of a first column", '"1,x,A,b\n2,y",B,c,d'],
    ["that a quote alone closes", '1,"x,A,b\n2,",B,c'],
    ["that a quote alone closes after empty fields", '1,x,"A,b\n2,,",c'],
    ["that ends with a text that begins with spaces", '1,x,"A,b\n2,  y,z",c'],
    ["of the last column, over a row with empty fields first", '1,x,A,"b\n,,p"'],
    ["of the last column, over a row with its first field empty", '1,x,A,"b\n,y,B"'],
    ["of a row that the file ends in", '1,x,"A,b\nz,y",B'],
    ["of a row whose last fields are left out", '1,x,"A,b\n22,z",y'],
    ["of short rows", '1,x,"A\n22,y\n3,z",c'],
    ["of a row with a padded field", '1,"x,  A ,b\n2,",B,c'],
  ])("is refused for a field %s", async (_name, rows) => {
    const reading = itemsOf(`business_product_id,short_description,brand,tags\n${rows}\n`);
    await expect(reading).rejects.toMatchObject({ place: 2, message: expect.stringContaining("not closed") });
  });

  it.each([
    ["has a quote that is not doubled", '1,"24", black",A\n2,x,B,c\n', [null, "B"], "not doubled"],
    ["is cut off", "1,x,A,b\n2,y,B", ["A", null], "may not be whole"],
    ["is cut off after a text with a comma", "1,x,A,b\n2,y, z,B", ["A", null], "may not be whole"],
    [
      "is cut off after the comma and the space of a text",
      "1,x,A,b\n2,y,B, ",
      ["A", null],
      "may not be whole",
    ],
    ["is broken by a line end", "1,x,A\ny z,c\n2,x,B\n", [null, null, "B"], "a piece of a row"],
    [
      "is broken by a line end, and has more empty fields",
      "1,x,A\ny z,c,\n2,x,B\n",
      [null, null, "B"],
      "a piece of a row",
    ],
    [
      "is broken after a row that seemed to be",
      "1, x,A,b\nq\nr w,y,C,d\n",
      [null, null, null],
      "a piece of a row",
    ],
    [
      "is broken after commas of its text",
      "1, x, y,z\n2 a, b,c,d\n3,x,C,d\n",
      [null, null, "C"],
      "a piece of a row",
    ],
    ["has more fields than the header", "1,x,A,b,c\n2,y,B,c\n", [null, "B"], "Quote a field"],
    [
      "has the empty fields of the row that its last field has swallowed",
      '1,x,A,"b\n2",,,\n',
      [null],
      "Quote",
    ],
    ["lacks empty fields", "1,x,A\n2,y,B,c\n", ["A", "B"], null],
  ])("leaves out a row that %s", async (_name, rows, read, said) => {
    const items = await itemsOf(`business_product_id,short_description,brand,tags\n${rows}`);
    expect(items.map((item) => (recordOf(item) as { brand?: string } | null)?.brand ?? null)).toEqual(read);
    const details = items.flatMap(({ notes }) => notes.map(({ detail }) => detail));
    expect(details).toEqual(details.map(() => expect.stringContaining(said ?? "")));
    expect(details).toHaveLength(read.filter((brand) => brand === null).length);
  });

  it.each([
    ["in a text", "1;R&amp;D;;", null],
    ["before a field that would take its rest", "1;x;Gr&ouml;n;", null],
    ["by its number, after which the file is cut off", "1;x;A&#38; ", null],
    ["that is quoted", '1;x;"A&amp;B";c', "A&B"],
    ["that is none", "1;x;A&B;c", "A&B"],
  ])("leaves out a row that is divided at the ; of an entity: %s", async (_name, row, read) => {
    const items = await itemsOf(`business_product_id;short_description;brand;tags\n${row}`);
    expect(items.map((item) => (recordOf(item) as { brand?: string } | null)?.brand ?? null)).toEqual([read]);
    const details = items.flatMap(({ notes }) => notes.map(({ effect, detail }) => `${effect}: ${detail}`));
    const said = expect.stringMatching(/^item_left_out: A ; that ends the entity &/);
    if (read === null) expect(details).toEqual([said]);
  });

  it.each(["\n", ""])("keeps a text whose last line is a list, in the last column: %j", async (end) => {
    const header = "business_product_id,tags,brand,short_description\n";
    expect(await brands(`${header}1,x,A,"Sizes:\nS,M,L"${end}`)).toEqual(["A"]);
  });

  it("leaves out a row whose name, brand or tag has several lines, as the one that it swallowed begins", async () => {
    const header = "business_product_id,product_name,brand,tags\n";
    for (const row of ['1,a,A,"b\n2"', '1,a,"A\r\nB",b', '1,"a\nc",A,b']) {
      const [joined, ...others] = await itemsOf(`${header}${row}\n3,"c\n","C","d"\n`);
      expect(joined?.notes).toMatchObject([
        { effect: "item_left_out", detail: expect.stringContaining("several lines") },
      ]);
      expect(others.map(recordOf)).toMatchObject([{ product_name: "c", brand: "C", tags: ["d"] }]);
    }
  });

  it("leaves out a row whose code would be several lines: it may be the first of one and the rest of another", async () => {
    const header = "business_product_id,gtin,brand,tags\n";
    const [joined, ...others] = await itemsOf(`${header}1,"0, p, 3, x, A\ny,",B,c\n2,0,B,c\n`);
    expect(joined?.notes).toMatchObject([{ effect: "item_left_out", attribute: "gtin" }]);
    expect(others.map(recordOf)).toMatchObject([{ brand: "B" }]);
  });

  it("is refused with tabs for a field with a line end and a tab", async () => {
    const reading = itemsOf('id\ttitle\tprice\n1\t"Slim lamp\t5 USD\n2\tScreen 24"\t6 USD\n');
    await expect(reading).rejects.toMatchObject({ place: 2, message: expect.stringContaining("not closed") });
  });

  const header = "business_product_id,brand\n";
  const bytesOf = (...points: readonly number[]): Uint8Array =>
    Uint8Array.of(...new TextEncoder().encode(`${header}1,Gr`), ...points);

  it("may be UTF-16 with its mark, or Windows-1252 by name", async () => {
    const text = `${header}1,Grün`;
    const units = [0xfeff, ...[...text].map((each) => each.charCodeAt(0))];
    const little = Uint8Array.from(units.flatMap((unit) => [unit & 255, unit >> 8]));
    const big = Uint8Array.from(units.flatMap((unit) => [unit >> 8, unit & 255]));
    for (const contents of [little, big]) expect(await brands(contents)).toEqual(["Grün"]);
    expect(await brands(bytesOf(0xfc, 0x6e), { encoding: "windows-1252" })).toEqual(["Grün"]);
  });

  it.each([
    ["Windows-1252 without its name", bytesOf(0xfc, 0x6e), 2, 'after "1,Gr". Save it as UTF-8'],
    ["UTF-16 without its mark", Uint8Array.of(0x61, 0, 0x62, 0), 1, "zero bytes"],
    ["UTF-16 without its mark, with letters", Uint8Array.of(0x61, 0, 0xfc, 0), 1, "zero bytes"],
  ])("is refused in %s", async (_name, contents, place, said) => {
    await expect(itemsOf(contents)).rejects.toMatchObject({ place, message: expect.stringContaining(said) });
  });
});
