// Products with known facts, and the cells in which a shop writes them: rightly, or as real exports get them wrong. What a cell
// then says is no fact any more, but nothing else may take its place.

import { gzipSync } from "node:zlib";
import type { Random } from "./mutate.ts";
import { randomFrom } from "./run.ts";

/** Numbers that follow from an input, each as likely as the others: any change of it is another feed. */
export class Choices {
  readonly below: Random;
  /** How much rarer everything odd is: a record is published only where little else is wrong. */
  readonly #care: number;

  constructor(input: Uint8Array) {
    this.below = randomFrom(
      input.reduce((hash, byte) => Math.imul(hash ^ byte, 0x01000193) >>> 0, 0x811c9dc5),
    );
    this.#care = this.of([1, 3, 8]);
  }

  /** True once in `times`, or more rarely. */
  once(times: number): boolean {
    return this.below(times * this.#care) === 0;
  }

  of<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }
}

export interface Facts {
  readonly id: string;
  readonly name: string;
  readonly text: string;
  readonly brand: string;
  readonly amount: string;
  /** A lower price that holds now; null without a sale. */
  readonly sale: string | null;
  readonly availability: string;
  readonly gtin: string | null;
  readonly url: string;
  readonly tags: readonly string[];
  readonly condition: "new" | "used";
}

export interface Place {
  readonly country: string;
  readonly currency: string;
}

const names = [
  "Desk lamp",
  "Lamp, brass",
  "Grüne Lampe",
  'Screen of 24"',
  '"Slim" lamp',
  "Cable <2 m>, R&D",
  "Lamp; soft",
  "Émile’s Stuhl",
  "Лампа",
  "Family 👨‍👩‍👧 lamp",
  "'90s poster",
];
const texts = [
  "A lamp.",
  "A lamp,\nwith a switch, and a bulb.",
  'Fits 5" nails.',
  "Größe: 20 cm; Gewicht: 1,5 kg",
  "Soft, warm, nice.\nS, M, L, XL",
  "One | two",
  "Für Räume bis 20 m² – warm, hell.",
];
const amounts = ["19.99", "1299.00", "12500.00", "1.25", "899.00", "1234.56", "12.50", "1250", "3"];
const gtins = ["4006381333931", "5901234123457", "036000291452", null];

export function factsOf(choices: Choices, at: number): Facts {
  const amount = choices.of(amounts);
  return {
    id: `${choices.of(["sku-", "A", "000", "lamp/"])}${at + 1}`,
    name: `${choices.of(names)} ${at + 1}`,
    text: `${choices.of(texts)} ${["One", "Two", "Three", "Four"][at]}`,
    brand: choices.of(["Glim", "Müller & Söhne", "Bright, Ltd"]),
    amount,
    sale: choices.once(3) ? (Number(amount) / 2).toFixed(2) : null,
    availability: choices.of(["in_stock", "out_of_stock", "backorder"]),
    gtin: choices.of(gtins),
    url: `https://shop.example/p/${at + 1}${choices.of(["", "?a=1&b=2"])}`,
    tags: choices.of([["kitchen", `t${at}`], ["lamps"]]),
    condition: choices.of(["new", "new", "used"]),
  };
}

/** What a broken export writes in place of a text. */
const spoilt = [
  "#NAME?",
  "null",
  "undefined",
  "nan",
  "{{ product.value }}",
  "[object Object]",
  "#REF!",
  "Gr\uFFFDn",
];

/** A price of 0 is not among them: it is published with a warning. */
export function writtenAmount(amount: string, choices: Choices, decimalComma: boolean): string {
  const number = Number(amount);
  const plain = decimalComma ? amount.replace(".", ",") : amount;
  if (!choices.once(4)) return plain;
  const grouped = (mark: string, point: string): string => {
    const [whole = "", fraction] = amount.split(".");
    const marked = whole.replaceAll(/(?<=[0-9])(?=(?:[0-9]{3})+$)/g, mark);
    return fraction === undefined ? marked : marked + point + fraction;
  };
  const forms = [
    grouped(".", ","),
    grouped(" ", ","),
    grouped("\u202F", ","),
    grouped("’", decimalComma ? "," : "."),
    grouped(",", "."),
    decimalComma ? plain : amount.replace(".", ","),
    Number.isInteger(number) ? grouped(".", ",").replace(/,00$/, "") : plain,
    Number.isInteger(number) ? grouped(",", ".").replace(/\.00$/, "") : plain,
    number.toExponential(2).replace(".", decimalComma ? "," : "."),
    `€${plain}`,
    `${plain} EUR`,
    "-1",
    "#VALUE!",
    "on request",
  ];
  return choices.of(forms);
}

const words: Readonly<Record<string, readonly string[]>> = {
  in_stock: ["in stock", "In-Stock", "instock", "https://schema.org/InStock", "lieferbar", "yes", "1"],
  out_of_stock: [
    "sold out",
    "ausverkauft",
    "out-of-stock",
    "OutOfStock",
    "https://schema.org/OutOfStock",
    "0",
  ],
  backorder: ["back order", "available for order", "https://schema.org/BackOrder", "nan"],
};

export function writtenAvailability(availability: string, choices: Choices): string {
  return choices.once(3) ? choices.of(words[availability] ?? []) : availability;
}

export function writtenText(text: string, choices: Choices): string {
  if (!choices.once(4)) return text;
  const escaped = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return choices.of([
    `<p>${escaped.replaceAll("\n", "<br>")}</p>`,
    `<div class="a"><b>${escaped}</b></div>`,
    `${escaped.replaceAll('"', "&quot;").replaceAll(" ", "&nbsp;")}<!-- x -->`,
    text.replaceAll("\n", "\r\n"),
    `  ${text} `,
    "",
    ...spoilt,
  ]);
}

export function writtenId(id: string, choices: Choices): string {
  return choices.once(8) ? choices.of([`="${id}"`, `'${id}`, "1.00E+05", "1E+05", "#N/A", "null"]) : id;
}

export function writtenGtin(gtin: string | null, choices: Choices): string {
  if (gtin === null) return choices.once(3) ? choices.of(["N/A", "0000000000000", "none", "0"]) : "";
  if (!choices.once(4)) return gtin;
  const rounded = `${gtin[0]}.${gtin.slice(1, 6)}E+${gtin.length - 1}`;
  return choices.of([
    `="${gtin}"`,
    `${gtin.slice(0, 3)}-${gtin.slice(3)}`,
    rounded,
    gtin.replace(/^0/, ""),
    "0000000000000",
    "",
  ]);
}

export function writtenUrl(url: string, choices: Choices): string {
  if (!choices.once(6)) return url;
  return choices.of([
    url.replace("https:", "http:"),
    url.replaceAll("&", "&amp;"),
    url.slice(8),
    "https://shop.example/{{ handle }}",
    "",
  ]);
}

/** A sale price and its period in a merchant feed. */
export function writtenSale(
  facts: Facts,
  place: Place,
  choices: Choices,
): readonly [price: string, period: string] {
  const { currency } = place;
  if (facts.sale !== null)
    return [
      choices.once(6)
        ? choices.of([facts.sale, `${facts.sale.replace(".", ",")} ${currency}`])
        : `${facts.sale} ${currency}`,
      choices.of([
        "",
        "2026-11-01T00:00-0800/2026-12-01T00:00-0800",
        "2026-11-01/2026-12-01",
        "2026-11-01T00:00:00.000Z/2026-12-01T00:00:00+01",
      ]),
    ];
  const low = (Number(facts.amount) / 4).toFixed(2);
  return choices.of([
    ["", ""],
    [`0 ${currency}`, ""],
    [`0.00 ${currency}`, ""],
    [`${facts.amount} ${currency}`, ""],
    [`${low} XTS`, ""],
    [`${low} ${currency}`, "2026-01-01/2026-02-01"],
    [`${low} ${currency}`, "2027-01-01/2027-02-01"],
    [`${low} ${currency}`, "2026-12-01/2026-11-01"],
    [`${low} ${currency}`, "01/11/2026/01/12/2026"],
    ["", "2026-11-01/2026-12-01"],
  ] as const);
}

export function writtenCondition({ condition }: Facts, choices: Choices): string {
  if (condition === "new") return choices.of(["new", "", "https://schema.org/NewCondition", "New"]);
  return choices.of(["used", "https://schema.org/UsedCondition", "gebraucht", "pre-owned"]);
}

export function writtenCountry({ country }: Place, choices: Choices): string {
  if (!choices.once(6)) return country;
  return country === "GB"
    ? choices.of(["UK", "England"])
    : choices.of([country.toLowerCase(), "EU", "Deutschland"]);
}

// Feeds as exports write them: cells in each format, by good writers and bad ones, and the files as they arrive.

/** Columns or attributes in their order, and the cells of each product. */
export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export type Separator = "," | ";" | "\t" | "|";

/** How cells are made one line. A `raw` writer quotes nothing; `wrapped` forgets to double quotes. */
const styles = ["rfc", "all", "raw", "wrapped", "backslash", "stray"] as const;

export function tableText(
  table: Table,
  separator: Separator,
  choices: Choices,
): { readonly text: string; readonly how: string } {
  const style = choices.of(styles);
  const end = choices.of(["\n", "\r\n", "\r"]);
  const quoted = (cell: string): string => `"${cell.replaceAll('"', '""')}"`;
  const rfc = (cell: string): string =>
    cell.includes(separator) || /["\r\n]/.test(cell) ? quoted(cell) : cell;
  const write: Record<(typeof styles)[number], (cell: string) => string> = {
    rfc,
    all: quoted,
    // Without a space the comma of a text is not told from one of the table.
    raw: (cell) => cell.replaceAll(separator, `${separator} `).replaceAll(/\s{2,}/g, " "),
    wrapped: (cell) =>
      cell.includes(separator) ? `"${cell.replaceAll(/[\r\n]+/g, " ")}"` : cell.replaceAll(/[\r\n]+/g, " "),
    backslash: (cell) => `"${cell.replaceAll('"', '\\"')}"`,
    stray: (cell) =>
      separator === ";" ? rfc(cell) : cell.replaceAll(/[\r\n]+|\\(?=,)/g, " ").replaceAll(separator, " "),
  };
  const lines = table.rows.map((row, at) => {
    const cells = row.map(write[style]);
    if (style === "stray") {
      // An inch mark, or a name in quotes: one begins a cell, another ends one in a later row.
      const quoted = choices.below(cells.length);
      if (at === 0) cells[quoted] = `"${cells[quoted] ?? ""}`;
      if (at === table.rows.length - 1) cells[quoted] = `${cells[quoted] ?? ""}"`;
    }
    return style === "raw" ? cells.join(separator) : lineOf(cells, separator, choices);
  });
  const columns = choices.once(12) ? table.columns.map((name) => ` ${name} `) : table.columns;
  const header = columns.map(rfc).join(separator);
  if (choices.once(12))
    lines.splice(
      choices.below(lines.length + 1),
      0,
      choices.of(["", header, "Total", `${separator}${separator}`]),
    );
  if (choices.once(10) && separator !== "\t") lines.unshift(`sep=${separator}`, header);
  else if (choices.once(20)) lines.unshift("Export of 28 November", header);
  else lines.unshift(header);
  return { text: lines.join(end) + (choices.once(4) ? "" : end), how: style };
}

function lineOf(cells: readonly string[], separator: Separator, choices: Choices): string {
  const line = cells.join(separator);
  if (!choices.once(5)) return line;
  // Cells that are empty at the end of a row come and go.
  return choices.once(2)
    ? line + separator.repeat(1 + choices.below(3))
    : line.replace(new RegExp(`[${separator}]+$`), "");
}

/** An item of XML in which attributes are elements. */
export function xmlText(table: Table, choices: Choices): string {
  const items = table.rows.map((row) => {
    const elements = row.map((cell, at) => elementOf(table.columns[at] ?? "", cell, choices));
    return `<item>${elements.join("\n")}</item>`;
  });
  const namespace = choices.once(6)
    ? choices.of([
        "https://base.google.com/ns/1.0",
        "http://base.google.com/ns/1.0/",
        "http://base.google.com/cns/1.0",
      ])
    : "http://base.google.com/ns/1.0";
  return `<?xml version="1.0"?>\n<rss version="2.0" xmlns:g="${namespace}"><channel><title>Shop</title>\n${items.join("\n")}</channel></rss>\n`;
}

function elementOf(column: string, cell: string, choices: Choices): string {
  if (cell === "") return choices.once(2) ? `<g:${column}/>` : "";
  const name = `g:${choices.once(20) ? column[0]?.toUpperCase() + column.slice(1) : column}`;
  const escaped = cell.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const element = `<${name}>${choices.once(4) ? `<![CDATA[${cell.replaceAll("]]>", "")}]]>` : escaped}</${name}>`;
  // A product may have several types.
  if (!choices.once(12) || column === "product_type") return element;
  return choices.of([
    `${element}<${name}>7.77 ${escaped.slice(-3)}</${name}>`,
    `<${name}>5<b/>${escaped}</${name}>`,
    `<${name}><b>${escaped}</b> and</${name}>`,
    `<${name}><x>${escaped}</x></${name}>`,
    `<${name}>${cell}</${name}>`,
    `${element}<${column}>7.77</${column}>`,
    `<!-- & ${escaped.replaceAll("--", "")} -->${element}`,
  ]);
}

/** Records of products as JSON. */
export function jsonText(
  records: readonly Readonly<Record<string, unknown>>[],
  choices: Choices,
  isLines: boolean,
): string {
  const texts = records.map((record) => {
    const text = JSON.stringify(record);
    return choices.once(8) && text.includes('"product_name":')
      ? text.replace(/^\{/, `{"product_name":"Other",`)
      : text;
  });
  return isLines ? `${texts.join("\n")}\n` : `[${texts.join(",\n")}]`;
}

export interface Arrived {
  readonly bytes: Uint8Array;
  /** What the user names, if anything. */
  readonly encoding: "windows-1252" | null;
  readonly isCut: boolean;
  readonly how: string;
}

/** The file as it arrives: in some encoding, whole or cut off. */
export function arrived(text: string, choices: Choices): Arrived {
  const [how, bytes, encoding] = encoded(text, choices.once(3) ? 1 + choices.below(9) : 0);
  const isCut = choices.once(8);
  const whole = choices.once(10) ? new Uint8Array(gzipSync(bytes)) : bytes;
  const end = isCut ? Math.floor((whole.length * (1 + choices.below(255))) / 256) : whole.length;
  return { bytes: whole.subarray(0, end), encoding, isCut, how };
}

function encoded(
  text: string,
  which: number,
): readonly [how: string, bytes: Uint8Array, encoding: "windows-1252" | null] {
  const utf8 = new TextEncoder().encode(text);
  const units = (isBig: boolean): Uint8Array =>
    Uint8Array.from(
      [0xfeff, ...Array.from({ length: text.length }, (_, at) => text.charCodeAt(at))].flatMap((unit) =>
        isBig ? [unit >> 8, unit & 255] : [unit & 255, unit >> 8],
      ),
    );
  const ways: readonly (readonly [string, Uint8Array, "windows-1252" | null])[] = [
    ["utf-8", utf8, null],
    ["utf-8 with its mark", new TextEncoder().encode(`\uFEFF${text}`), null],
    ["utf-16le", units(false), null],
    ["utf-16be", units(true), null],
    ["utf-16 without its mark", units(false).subarray(2), null],
    ["windows-1252", windows(text), null],
    ["windows-1252 by name", windows(text), "windows-1252"],
    ["utf-8 under another name", utf8, "windows-1252"],
    ["encoded twice", new TextEncoder().encode(new TextDecoder("windows-1252").decode(utf8)), null],
    [
      "lost letters",
      new TextEncoder().encode(text.replaceAll(/(?<=\p{L})[^\0-\x7F](?=\p{Ll})/gu, "?")),
      null,
    ],
  ];
  return ways[which] as (typeof ways)[number];
}

const windowsOf = new Map(
  [...new TextDecoder("windows-1252").decode(Uint8Array.from({ length: 256 }, (_, at) => at))].map(
    (character, at) => [character, at],
  ),
);

/** What Windows-1252 does not have is lost. */
function windows(text: string): Uint8Array {
  return Uint8Array.from([...text], (character) => windowsOf.get(character) ?? 0x3f);
}
