// Files as shops and spreadsheets really write them: what is published of each is what the file says, or nothing.

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { itemsOf, recordOf } from "./feed.fixture.ts";
import { FeedError } from "./feed-item.ts";
import type { FeedMapping } from "./feed-mapping.ts";

/** Id, what is published of it, and its value. */
type Fact = readonly [
  id: string,
  what: "price" | "availability" | "name" | "text" | "category" | "gtin",
  value: string,
];

interface Case {
  readonly file: string;
  readonly fault: string;
  readonly mapping?: FeedMapping;
  readonly set?: Readonly<Record<string, string>>;
  readonly now?: string;
  /** How the message of a file begins that is refused as a whole. */
  readonly refused?: string;
  readonly bad?: readonly Fact[];
  readonly badtext?: readonly string[];
  readonly need?: readonly Fact[];
  /** The attribute that a note is about. */
  readonly note?: string;
}

const folder = `${import.meta.dirname}/cases`;
const cases = JSON.parse(readFileSync(`${folder}/cases.json`, "utf8")) as readonly Case[];

interface Published {
  readonly business_product_id: string;
  readonly product_name: string;
  readonly short_description: string;
  readonly category: string;
  readonly availability: string;
  readonly gtin?: string;
  readonly prices: readonly { readonly amount: string }[];
}

function factsOf(record: Published): readonly Fact[] {
  const { business_product_id: id, prices, gtin } = record;
  return [
    ...prices.map(({ amount }): Fact => [id, "price", amount]),
    [id, "availability", record.availability],
    [id, "name", record.product_name],
    [id, "text", record.short_description],
    [id, "category", record.category],
    ...(gtin === undefined ? [] : [[id, "gtin", gtin] satisfies Fact]),
  ];
}

async function read({ file, mapping, set = {}, now = "2026-11-28T09:00:00Z" }: Case) {
  const contents = new Uint8Array(readFileSync(`${folder}/${file}`));
  const options = {
    nowMs: Date.parse(now),
    set: new Map(Object.entries(set)),
    ...(mapping ? { mapping } : {}),
  };
  try {
    return { items: await itemsOf(contents, options), refused: null };
  } catch (error) {
    if (!(error instanceof FeedError)) throw error;
    return { items: [], refused: `line ${error.place}: ${error.message}` };
  }
}

describe("a feed that says something else than it seems to", () => {
  it.each(cases)("$file: $fault", async (each) => {
    const { items, refused } = await read(each);
    const records = items.filter(({ bytes }) => bytes !== null).map((item) => recordOf(item) as Published);
    const facts = records.flatMap(factsOf);
    if (each.refused === undefined) expect(refused).toBeNull();
    else expect(refused).toContain(each.refused);
    for (const fact of each.bad ?? []) expect(facts).not.toContainEqual(fact);
    for (const fact of each.need ?? []) expect(facts).toContainEqual(fact);
    for (const text of each.badtext ?? []) expect(JSON.stringify(records)).not.toContain(text);
    const noted = items.flatMap(({ notes }) => notes.map(({ attribute }) => attribute));
    if (each.note !== undefined) expect(noted).toContain(each.note);
    // Whatever is left out says why.
    for (const { bytes, notes } of items) if (bytes === null) expect(notes).not.toEqual([]);
  });
});
