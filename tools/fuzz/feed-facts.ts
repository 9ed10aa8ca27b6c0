// Products with known facts, and the cells in which a shop writes them: rightly, or as real exports get them wrong. What a cell
// then says is no fact any more, but nothing else may take its place.

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
  /** A decimal string. */
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
