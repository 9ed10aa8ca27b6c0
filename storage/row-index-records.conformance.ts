// How an index answers a query that names records (the clauses `among` and `except`). Part of row-index.conformance.ts.

import { expect, it } from "vitest";
import { textMatchKey } from "../collections/definition.ts";
import { withMembers, wordsOf } from "./row-index.fixture.ts";
import type { RowChange, RowIndex, RowQuery } from "./row-index.ts";

interface Suite {
  readonly withIndex: (open: Suite["open"], run: (index: RowIndex) => Promise<void>) => Promise<void>;
  readonly open: () => Promise<{ readonly index: RowIndex; close(): Promise<void> }>;
  readonly put: (collection: "products", n: number) => RowChange;
  /** The id of product `n` in the index that is open. */
  readonly idOf: (n: number) => string;
}

const everything: RowQuery = {
  collection: "products",
  country: "US",
  clauses: [],
  sort: [{ field: "published_at", direction: "desc" }],
  limit: 50,
  excludeBusinesses: [],
};
const text: NonNullable<RowQuery["text"]> = { words: wordsOf("shoe"), fields: ["product_name"] };

/** Each is answered in a way of its own. */
const queries: readonly RowQuery[] = [
  everything,
  { ...everything, sort: [{ field: "price_US", direction: "asc" }] },
  { ...everything, text },
  { ...everything, text, sort: [{ field: textMatchKey, direction: "desc" }] },
];

export function rowIndexRecordTests({ withIndex, open, put, idOf }: Suite): void {
  const named = (n: number, product_name: string, countries: readonly string[] = ["US"]): RowChange =>
    withMembers(put("products", n), { product_name, countries });

  it("finds exactly the rows of the records that are named, or exactly the others", () =>
    withIndex(open, async (index) => {
      await index.apply([1, 2, 3, 4].map((n) => named(n, "red shoe")));
      const found = async (query: RowQuery, clauses: RowQuery["clauses"]) =>
        (await index.search({ ...query, clauses })).map(({ record_id: id }) => id).toSorted();
      const many = Array.from({ length: 60_000 }, (_, n) => `svc_${String(n).padStart(26, "a")}`);
      const cases = [
        [
          [idOf(2), idOf(4), idOf(9)],
          [2, 4],
          [1, 3],
        ],
        [[], [], [1, 2, 3, 4]],
        [[...many, idOf(3)], [3], [1, 2, 4]],
      ] as const;
      for (const query of queries) {
        for (const [records, those, others] of cases) {
          const [among, except] = [{ op: "among", records } as const, { op: "except", records } as const];
          expect(await found(query, [among])).toEqual(those.map(idOf).toSorted());
          expect(await found(query, [except])).toEqual(others.map(idOf).toSorted());
          expect(await found(query, [among, except])).toEqual([]);
        }
      }
      const elsewhere = { ...everything, country: "CA" };
      expect(await found(elsewhere, [{ op: "among", records: [idOf(1)] }])).toEqual([]);
    }));

  it("counts a word as written though no record that is named has it (X8)", () =>
    withIndex(open, async (index) => {
      await index.apply([named(1, "bread"), named(2, "broad")]);
      const clauses = [{ op: "among", records: [idOf(2)] } as const];
      const bread = { words: wordsOf("bread"), fields: ["product_name"] };
      expect(await index.search({ ...everything, text: bread, clauses })).toEqual([]);
    }));
}
