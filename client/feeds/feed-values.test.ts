import { describe, expect, it } from "vitest";
import { readAmount, readCell, readGtin, readLink } from "./feed-values.ts";
import { readText } from "./published-text.ts";

const fault = { fault: expect.any(String) };

describe("an amount", () => {
  it.each([
    ["19,99", "19.99"],
    ["1.299", "1299"],
    ["12.500", "12500"],
    ["1.299.000", "1299000"],
    ["1.299,00", "1299.00"],
    ["1 299,00", "1299.00"],
    ["1\u00A0299", "1299"],
    ["1\u202F299,5", "1299.5"],
    ["1’299,00", "1299.00"],
    ["5", "5"],
  ])("with a decimal comma, %s, is %s", (written, value) => {
    expect(readAmount(written, { decimalComma: true, currency: "EUR" })).toMatchObject({ value });
  });

  it.each([
    "19.99",
    "1.29",
    "1.2999",
    "1.299 000",
    "1,2,3",
    "1.299,",
    ",99",
    "0.299",
    "1,299",
    "about 5",
    "5 EUR",
  ])("with a decimal comma, is not %s", (written) => {
    expect(readAmount(written, { decimalComma: true, currency: "EUR" })).toEqual(fault);
  });

  it("with three decimals is taken only where the currency has thousandths, or nothing else can be meant", () => {
    expect(readAmount("1.299", { currency: "EUR" })).toEqual({
      fault: expect.stringContaining("write 1299, or 1.2990"),
    });
    for (const [written, currency] of [
      ["1.299", "KWD"],
      ["1.2990", "EUR"],
      ["0.299", "EUR"],
      ["1299.000", "EUR"],
    ] as const)
      expect(readAmount(written, { currency })).toMatchObject({ value: written });
    for (const written of ["1,299.00", "19,99", "1 299", "1e3", "5."])
      expect(readAmount(written, { currency: "EUR" })).toEqual(fault);
  });
});

it("reads a GTIN with hyphens, and none of zeros, or that a spreadsheet has rounded", () => {
  expect(readGtin("400-6381-333931")).toMatchObject({ value: "4006381333931" });
  for (const written of ["0000000000000", "N/A", "4006381333932"]) expect(readGtin(written)).toEqual(fault);
  expect(readGtin("4.00638E+12")).toEqual({ fault: expect.stringContaining("as text") });
});

it("takes off the mark of a spreadsheet, and refuses its apostrophe where it cannot be text", () => {
  expect(readCell('="000123"', { isNumber: true })).toMatchObject({
    value: "000123",
    change: expect.any(String),
  });
  for (const written of ["'000123", "'sku-1", "'+1", "1.00E+05", "1E+05"])
    expect(readCell(written, { isNumber: true })).toEqual(fault);
  expect(readCell("'=A1", { isNumber: false })).toEqual(fault);
  expect(readCell("'90s poster", { isNumber: false })).toMatchObject({ value: "'90s poster", change: null });
});

describe("a link", () => {
  it.each([
    ["https://shop.example/a?b=1", "https://shop.example/a?b=1", null],
    ["HTTPS://shop.example/a", "https://shop.example/a", "Encoded"],
    ["https://shop.example/grüne lampe|1", "https://shop.example/gr%C3%BCne%20lampe%7C1", "Encoded"],
    ["https://bücher.example/[a]", "https://xn--bcher-kva.example/%5Ba%5D", "Encoded"],
    ["https://shop.example/a#b#c", "https://shop.example/a#b%23c", "Encoded"],
    ["https://shop.example/?a=1&amp;b=2", "https://shop.example/?a=1&b=2", "not escaped"],
  ])("%s is published as %s", (written, value, change) => {
    expect(readLink(written)).toEqual({
      value,
      change: change === null ? null : expect.stringContaining(change),
      fault: null,
    });
  });

  it.each([
    ["http://shop.example/", "http:"],
    ["shop.example/1", "from https:// on"],
    ["https://user@shop.example/", '"@" (U+0040)'],
    ["https://shop.example\\@evil.example/", '"\\\\" (U+005C)'],
    ["https://shop.example/100%", "%25"],
    ["https://127.0.0.1/", "domain name"],
    ["https://shop.example/{{ handle }}", "template"],
    ["https://shop.example/GrÃ¼n", "Windows-1252"],
  ])("is not %s", (written, said) => {
    expect(readLink(written)).toEqual({ fault: expect.stringContaining(said) });
  });
});

describe("a text", () => {
  it.each(["Cable &lt", "R&AMP", "A&#38", "B&#x26", "Stra&szlig", "R&amp;amp"])(
    "does not end with %s",
    (written) => {
      expect(readText(written, { isMultiline: false })).toEqual({
        fault: expect.stringContaining("an entity without its end"),
      });
    },
  );

  it.each(["H&M", "R&D", "Lamp &", "Cable &lt 2 m", "Bed & amp", "A &#3"])(
    "may end as %s does",
    (written) => {
      expect(readText(written, { isMultiline: false })).toMatchObject({ text: written });
    },
  );

  const text = (written: string, isMultiline = true) => {
    const read = readText(written, { isMultiline });
    return read.fault === null ? [read.text, read.hadMarkup] : "fault";
  };

  it("loses its markup, and nothing that only looks like it", () => {
    expect(text("<p>A <b>bright</b> lamp.</p><ul><li>Brass</li></ul>")).toEqual([
      "A bright lamp.\n\nBrass",
      true,
    ]);
    expect(text("A&nbsp;lamp &quot;Nova&quot; &#8211; &#xFC;ber")).toEqual(['A lamp "Nova" – über', true]);
    expect(text("&lt;p&gt;Twice&lt;/p&gt;")).toEqual(["Twice", true]);
    expect(text("A<script>alert(1)</script>B<!-- c -->")).toEqual(["A B", true]);
    expect(text("<table><tr><td>Power</td><td>5 W</td></tr></table>")).toEqual(["Power 5 W", true]);
    expect(text("10<sup>3</sup> lm, 1<sup>st</sup>, <s>99</s> 49 EUR")).toEqual([
      "10³ lm, 1st, 49 EUR",
      true,
    ]);
    expect(text("Do&shy;nau&#8203;dampf")).toEqual(["Donaudampf", true]);
    for (const kept of [
      "CAFÉ®",
      "„Ä“",
      "https://shop.example/what?id=1",
      "Why? because",
      "Cable <2 m>, 5 < 6 & more",
      "Brass & <glass>.",
      "AT&T; R&D",
      "[new] lamp",
      "Size #1",
      "NAN",
    ])
      expect(text(kept)).toEqual([kept, false]);
  });

  it("keeps its lines, with line feeds, or is one line", () => {
    expect(text("A lamp.\r\nWith a  switch.\r")).toEqual(["A lamp.\nWith a switch.", false]);
    expect(text("A\nlamp", false)).toEqual(["A lamp", false]);
  });

  it.each([
    "#NAME?",
    "Lamp #REF!",
    "#N/A",
    "nan",
    "null",
    "undefined",
    "None",
    "N/A",
    "[object Object]",
    "{{ product.title }}",
    "{% if a %}",
    "$\u007Bname}",
    "<%= name %>",
    "[vc_row]A lamp[/vc_row]",
    "A lamp[/caption]",
    "Lampe \uFFFD",
    "GrÃ¼ne Lampe",
    "Itâ€™s a lamp",
    "A&amp;amp;quot;B",
    "Array",
    "<?php echo 1",
    "{$name}",
    "%%title%%",
    '[gallery ids="1,2"]',
    "Gr?ne Lampe",
    "Gr??e: 20 cm",
    "????? lamp",
    "Gr√ºne Lampe",
    "Å¡koda",
    "Î±Î²Î³",
  ])("is not %s", (written) => {
    expect(text(written)).toBe("fault");
  });
});
