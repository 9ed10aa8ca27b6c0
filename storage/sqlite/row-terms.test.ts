import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { changesOf, countries, recordIdFor } from "../row-index.fixture.ts";
import type { RowChange } from "../row-index.ts";
import { SqliteDatabase } from "./database.ts";
import { prepareRowTables } from "./row-index.ts";
import { layoutOf } from "./row-layout.ts";
import {
  type Bits,
  CollectionTerms,
  countBits,
  numbersOf,
  type RowNote,
  type TermList,
} from "./row-terms.ts";
import { RowWriter } from "./row-writer.ts";

const layout = layoutOf("products");
const fields = layout.textFields.map((_, field) => field);
const vocabulary = [
  "red",
  "blue",
  "shoe",
  "日本",
  "本語",
  "x1",
  "or",
  "and",
  "not",
  "near",
  "e",
  "жук",
  "absent",
];

/** Everything that can be read from the terms. */
function contents(terms: CollectionTerms, rows: number): unknown {
  return {
    rows: Array.from({ length: rows + 1 }, (_, rid) => fields.map((field) => terms.lengthOf(rid, field))),
    lists: vocabulary.map((term) => postingsOf(terms.list(term))),
    withTerm: vocabulary.map((term) =>
      [fields, [0], [1, 3]].map((some) => membersOf(terms.rowsWithTerm(term, some))),
    ),
    published: countries.map((country) => membersOf(terms.published(country))),
  };
}

function membersOf(bits: Bits): readonly number[] {
  return [...numbersOf(bits, countBits(bits))];
}

/** Postings of rows that have the term. */
function postingsOf({ rids, frequencies, length }: TermList): unknown {
  const postings = Array.from({ length }, (_, index) => ({
    rid: rids[index],
    frequencies: [...frequencies.subarray(index * fields.length, (index + 1) * fields.length)],
  }));
  return postings.filter((each) => each.frequencies.some((count) => count > 0));
}

/** Products of one country, each with the name that `nameOf` returns. */
async function named(rows: number, nameOf: (n: number) => string): Promise<SqliteDatabase> {
  const database = SqliteDatabase.open(":memory:");
  prepareRowTables(database);
  const writer = new RowWriter(database);
  const changes = Array.from({ length: rows }, (_, n): RowChange => {
    const row = JSON.stringify({ countries: ["US"], product_name: nameOf(n) });
    const record_id = recordIdFor("products", 1, n);
    return {
      kind: "put",
      collection: "products",
      record_id,
      business_uuid: "b",
      generation: 1,
      change: 1,
      row,
    };
  });
  await database.write(() => writer.applyAll(changes));
  return database;
}

describe("the terms of a collection", () => {
  it("know how long each text is, however long", async () => {
    const lengths = [1, 127, 128, 300, 16_384, 70_000, 0, 2];
    await using database = await named(lengths.length, (n) => "x1 ".repeat(lengths[n] ?? 0));
    const terms = new CollectionTerms(database, layout);
    const name = layout.textFields.indexOf("product_name");
    expect(lengths.map((_, n) => terms.lengthOf(n + 1, name))).toEqual(
      lengths.map((length) => Math.min(length, 65_535)),
    );
  });

  it("are kept as long as there are few for each row, and go with the longest unused first (P1)", async () => {
    const words = ["aa", "bb", "cc", "dd", "ee", "ff", "gg", "hh", "ii", "jj"];
    await using database = await named(200, () => words.join(" "));
    const terms = new CollectionTerms(database, layout, 1);
    const kept = words.map((word) => terms.list(word));
    expect(kept.every(({ length }) => length === 200)).toBe(true);
    // Ten per row: none of them was reloaded.
    expect(words.map((word, index) => terms.list(word) === kept[index])).not.toContain(false);
    const many = Array.from({ length: 600 }, (_, n) => `absent${n}`);
    for (const word of many) terms.list(word);
    expect(words.map((word, index) => terms.list(word) === kept[index])).not.toContain(true);
  });

  it("that follow the changes, some of them noted twice, are those read anew", async () => {
    await fc.assert(
      fc.asyncProperty(
        changesOf("products", 1, 20),
        fc.integer({ min: 1, max: 9 }),
        async (changes, batch) => {
          const database = SqliteDatabase.open(":memory:");
          prepareRowTables(database);
          const writer = new RowWriter(database);
          const followed = new CollectionTerms(database, layout);
          contents(followed, 0);
          let earlier: readonly RowNote[] = [];
          for (let from = 0; from < changes.length; from += batch) {
            const { notes } = await database.write(() => writer.applyAll(changes.slice(from, from + batch)));
            for (const note of [...earlier, ...earlier, ...notes]) followed.note(note);
            earlier = notes.slice(-1);
            const fresh = new CollectionTerms(database, layout);
            expect(contents(followed, 20)).toEqual(contents(fresh, 20));
          }
          database.close();
        },
      ),
      { numRuns: 30 },
    );
  });

  it("that are read at any time, and told late of what changed, are in the end those read anew (P2)", async () => {
    await fc.assert(
      fc.asyncProperty(
        changesOf("products", 1, 12),
        fc.infiniteStream(fc.constantFrom("commit", "note", "read", "read anew")),
        async (changes, steps) => {
          const database = SqliteDatabase.open(":memory:");
          prepareRowTables(database);
          const writer = new RowWriter(database);
          let followed = new CollectionTerms(database, layout);
          const late: RowNote[] = [];
          for (let from = 0; from < changes.length; ) {
            const step = steps.next().value;
            if (step === "commit") {
              const { notes } = await database.write(() => writer.applyAll(changes.slice(from, from + 2)));
              late.push(...notes);
              from += 2;
            } else if (step === "note") for (const note of late.splice(0, 2)) followed.note(note);
            else if (step === "read") expectRankable(followed);
            else followed = new CollectionTerms(database, layout);
          }
          for (const note of late) followed.note(note);
          expect(contents(followed, 12)).toEqual(contents(new CollectionTerms(database, layout), 12));
          database.close();
        },
      ),
      { numRuns: 100 },
    );
  });
});

/** P4: every proposed row has its position among the ids. */
function expectRankable(terms: CollectionTerms): void {
  const proposed = [
    ...vocabulary.flatMap((term) => {
      const { rids, length } = terms.list(term);
      return [...rids.subarray(0, length), ...membersOf(terms.rowsWithTerm(term, fields))];
    }),
    ...countries.flatMap((country) => membersOf(terms.published(country))),
  ];
  for (const rid of proposed) expect(terms.idKey(rid)).toBeGreaterThan(0);
}
