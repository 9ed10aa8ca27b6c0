import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { textMatchKey } from "../../collections/definition.ts";
import { changesOf, countries, recordIdFor } from "../row-index.fixture.ts";
import type { RowChange, RowQuery } from "../row-index.ts";
import { SqliteDatabase } from "./database.ts";
import { type Bits, countBits, numbersOf } from "./row-bits.ts";
import { SqliteRowIndex } from "./row-index.ts";
import { layoutOf } from "./row-layout.ts";
import { CollectionTerms, type RowNote, type TermList } from "./row-terms.ts";
import { RowWriter } from "./row-writer.ts";

const layout = layoutOf("products");
const fields = layout.textFields.map((_, field) => field);
const vocabulary = ["red", "blue", "shoe", "日本", "本語", "x1", "or", "and", "not", "near", "é", "absent"];

/** Everything that can be asked of the terms. */
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

describe("the terms of a collection", () => {
  it("that follow the changes, some of them noted twice, are those read anew", async () => {
    await fc.assert(
      fc.asyncProperty(
        changesOf("products", 1, 20),
        fc.integer({ min: 1, max: 9 }),
        async (changes, batch) => {
          const database = SqliteDatabase.open(":memory:");
          new SqliteRowIndex(database).close();
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

  it("are not believed over the tables when a commit is not yet noted", async () => {
    const database = SqliteDatabase.open(":memory:");
    const index = new SqliteRowIndex(database);
    const named = (change: number, text: string): RowChange => ({
      kind: "put",
      collection: "products",
      record_id: recordIdFor("products", 1, 1),
      business_uuid: "b",
      change,
      row: text,
      document: { countries: ["US"], fields: {}, points: {}, texts: { product_name: text } },
    });
    const query: RowQuery = {
      collection: "products",
      country: "US",
      text: { terms: ["old"], fields: ["product_name"] },
      clauses: [],
      sort: [{ field: textMatchKey, direction: "desc" }],
      limit: 50,
      excludeBusinesses: [],
    };
    await index.apply([named(1, "old")]);
    expect(await index.search(query)).toHaveLength(1);
    // Both are of one transaction, and what waits for the first goes on before the second is noted.
    const between = database.write(() => null).then(() => index.search(query));
    const applied = index.apply([named(2, "new")]);
    expect(await between).toEqual([]);
    await applied;
    expect(await index.search(query)).toEqual([]);
    database.close();
  });
});
