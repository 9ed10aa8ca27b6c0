// Feeds as exports write them: cells in each format, by good writers and bad ones, and the files as they arrive.

import { gzipSync } from "node:zlib";
import type { Choices } from "./feed-facts.ts";

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
    if (style === "stray")
      strayQuotes(cells, { isFirst: at === 0, isLast: at === table.rows.length - 1 }, choices);
    return style === "raw" ? cells.join(separator) : lineOf(cells, separator, choices);
  });
  const header = headerOf(table.columns, choices).map(rfc).join(separator);
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

/** An inch mark, or a name in quotes: one begins a cell, another ends one in a later row. */
function strayQuotes(
  cells: string[],
  { isFirst, isLast }: { isFirst: boolean; isLast: boolean },
  choices: Choices,
): void {
  const at = choices.below(cells.length);
  if (isFirst) cells[at] = `"${cells[at] ?? ""}`;
  if (isLast) cells[at] = `${cells[at] ?? ""}"`;
}

function lineOf(cells: readonly string[], separator: Separator, choices: Choices): string {
  const line = cells.join(separator);
  if (!choices.once(5)) return line;
  // Cells that are empty at the end of a row come and go.
  return choices.once(2)
    ? line + separator.repeat(1 + choices.below(3))
    : line.replace(new RegExp(`[${separator}]+$`), "");
}

function headerOf(columns: readonly string[], choices: Choices): readonly string[] {
  return choices.once(12) ? columns.map((name) => ` ${name} `) : columns;
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
