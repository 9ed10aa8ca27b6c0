import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { collections } from "../../collections/collections.ts";
import { textMatchKey } from "../../collections/definition.ts";
import { collectionNames } from "../../protocol/identifiers.ts";
import { projectedRowText, projectRecord } from "../../protocol/projection/project.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import { MemoryRowIndex } from "../memory/row-index.ts";
import { rowIndexConformance } from "../row-index.conformance.ts";
import { changesOf, queryOf, recordIdFor, wordsOf } from "../row-index.fixture.ts";
import type { RowChange, RowQuery } from "../row-index.ts";
import { SqliteDatabase } from "./database.ts";
import { prepareRowTables, SqliteRowIndex } from "./row-index.ts";
import { layoutOf } from "./row-layout.ts";
import { provideNear } from "./row-reader.ts";
import { fieldOf, keyExpressions, type Plan, rangeConditions, recordsPlan, selectSql } from "./row-select.ts";
import { RowWriter } from "./row-writer.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-rows-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;

function newPath(): string {
  files += 1;
  return join(folder, `${files}.db`);
}

rowIndexConformance("the SQLite index", async () => {
  const index = new SqliteRowIndex(newPath());
  return { index, close: async () => index.close() };
});

/** Every plan that could answer a query without text, whatever its cost. */
function waysOf(query: RowQuery): readonly Plan[] {
  const layout = layoutOf(query.collection);
  const ways: Plan[] = [];
  const keys = keyExpressions(layout, query).join(" AND ");
  const [first] = query.sort;
  if (first === undefined) return ways;
  const records = recordsPlan(query);
  if (records !== null) ways.push(records);
  if (keys !== "") ways.push({ way: "keys", expression: keys, rows: 0 });
  ways.push(
    { way: "all", rows: 0 },
    { way: "walk", field: fieldOf(layout, first.field, query.country), rows: 0 },
  );
  for (const field of collections[layout.collection].fields) {
    if (rangeConditions(layout, query, field).length > 0) ways.push({ way: "range", field, rows: 0 });
  }
  return ways;
}

describe("every way of answering a query", () => {
  it.each(collectionNames)("gives the same rows of %s", async (collection) => {
    const database = SqliteDatabase.open(":memory:");
    prepareRowTables(database);
    provideNear(database.db);
    const writer = new RowWriter(database);
    const reference = new MemoryRowIndex();
    const [changes = []] = fc.sample(changesOf(collection, 1, 60), 1);
    await database.write(() => writer.applyAll(changes));
    await reference.apply(changes);
    const tried = new Set<string>();
    const withoutText = queryOf(collection, 1).filter((query) => query.text === undefined);
    await fc.assert(
      fc.asyncProperty(withoutText, async (query) => {
        const expected = await reference.search(query);
        for (const plan of waysOf(query)) {
          const { text, params } = selectSql(layoutOf(collection), query, plan);
          const found = database.db
            .prepare(text)
            .all(...params)
            .map((row) => row["record_id"] as string);
          const ids = expected.map((hit) => hit.record_id);
          expect([plan.way, ...found]).toEqual([plan.way, ...ids]);
          tried.add(plan.way);
        }
      }),
      { numRuns: 200 },
    );
    expect([...tried].sort()).toEqual(["all", "keys", "range", "records", "walk"]);
    database.close();
  });
});

const facts = {
  businessUuid: "7f9c2a10-5b1e-4c3d-8e2f-0123456789ab",
  hash: `sha256:${"0".repeat(64)}`,
  certId: `sha256:${"1".repeat(64)}`,
  keyId: "k".repeat(43),
  publishedAt: 1_770_000_000,
  aiPolicyVersion: 1,
};

function product(n: number, record: object, change = 1): RowChange {
  const record_id = recordIdFor("products", 7, n);
  const row = projectRecord({
    collection: "products",
    recordId: record_id,
    record: { ...sampleRecords.products, ...record },
    ...facts,
  });
  return {
    kind: "put",
    collection: "products",
    record_id,
    business_uuid: facts.businessUuid,
    generation: change,
    change,
    row: projectedRowText(row),
  };
}

function priced(n: number, amount: number, record: object, change = 1): RowChange {
  return product(
    n,
    { ...record, prices: [{ country: "US", currency: "USD", amount: String(amount) }] },
    change,
  );
}

const cheapest: RowQuery = {
  collection: "products",
  country: "US",
  clauses: [{ field: "brand", op: "eq", value: "Late" }],
  sort: [{ field: "price_US", direction: "asc" }],
  limit: 50,
  excludeBusinesses: [],
};

describe("a walk in the order of the sort", () => {
  // A fifth of the rows is wanted, so a walk seems short; but they are the most expensive, and the walk would be long.
  const rows = Array.from({ length: 5_000 }, (_, n) =>
    priced(n, n, { brand: n >= 4_000 ? "Late" : "Early" }),
  );
  const queries: readonly (readonly [string, RowQuery])[] = [
    ["for another way", cheapest],
    [
      "for a narrow range",
      { ...cheapest, clauses: [{ field: "published_at", op: "gt", value: 1_770_000_000_000 }] },
    ],
    [
      "downwards",
      {
        ...cheapest,
        clauses: [{ field: "brand", op: "eq", value: "Early" }],
        sort: [{ field: "price_US", direction: "desc" }],
      },
    ],
    [
      "though there is no other way",
      { ...cheapest, clauses: [{ field: "price_currency_US", op: "ne", value: "USD" }] },
    ],
    [
      "with the text",
      { ...cheapest, clauses: [], text: { words: wordsOf("late"), fields: ["brand", "tags"] } },
    ],
  ];

  it("is given up when it finds too little, and the answer is right", async () => {
    const index = new SqliteRowIndex(newPath());
    const reference = new MemoryRowIndex();
    await index.apply(rows);
    await reference.apply(rows);
    for (const [name, query] of queries) {
      const expected = (await reference.search(query)).map((hit) => hit.record_id);
      expect([name, ...(await index.search(query)).map((hit) => hit.record_id)]).toEqual([name, ...expected]);
    }
    index.close();
  });

  it("ends among rows without the sort field only when those with it are not enough", async () => {
    const index = new SqliteRowIndex(newPath());
    const reference = new MemoryRowIndex();
    const some = rows.map((row, n) =>
      n % 50 === 0 ? row : product(n, { brand: n >= 4_000 ? "Late" : "Early", prices: [] }),
    );
    await index.apply(some);
    await reference.apply(some);
    for (const limit of [10, 50]) {
      for (const direction of ["asc", "desc"] as const) {
        const query = { ...cheapest, limit, sort: [{ field: "price_US", direction }] };
        expect(await index.search(query)).toEqual(await reference.search(query));
      }
    }
    index.close();
  });
});

describe("relevance", () => {
  it.each(collectionNames)("is that of the row alone, of %s that change in between", async (collection) => {
    const index = new SqliteRowIndex(newPath());
    const reference = new MemoryRowIndex();
    const [changes = []] = fc.sample(changesOf(collection, 1, 60), 1);
    const ranked = queryOf(collection, 1).filter((query) =>
      query.sort.some((each) => each.field === textMatchKey),
    );
    let found = 0;
    for (let from = 0; from < changes.length; from += 15) {
      const some = changes.slice(from, from + 15);
      await index.apply(some);
      await reference.apply(some);
      for (const query of fc.sample(ranked, 30)) {
        const few = { ...query, limit: 1 + (found % 7) };
        for (const asked of [query, few, { ...few, sort: few.sort.toReversed() }]) {
          const hits = await index.search(asked);
          expect([asked, hits]).toEqual([asked, await reference.search(asked)]);
          found += hits.length;
        }
      }
    }
    // How many rows a random sample finds varies; if it found none, nothing would have been compared.
    expect(found).toBeGreaterThan(0);
    index.close();
  });

  it("is settled by the ids of rows that match equally, however many there are", async () => {
    const index = new SqliteRowIndex(newPath());
    const reference = new MemoryRowIndex();
    const rows = Array.from({ length: 6_000 }, (_, n) =>
      priced(n, n % 13, { brand: n % 400 === 3 ? "Late" : "Early" }),
    );
    await index.apply(rows);
    await reference.apply(rows);
    const query: RowQuery = {
      ...cheapest,
      clauses: [],
      text: { words: wordsOf("trail"), fields: ["product_name", "tags"] },
      sort: [{ field: textMatchKey, direction: "desc" }],
    };
    const price = { field: "price_US", direction: "desc" } as const;
    for (const asked of [
      query,
      { ...query, sort: [...query.sort, price] },
      { ...query, sort: [price] },
      {
        ...query,
        sort: [
          { ...price, direction: "asc" as const },
          { field: "published_at", direction: "desc" as const },
        ],
      },
      { ...query, sort: [{ field: "published_at", direction: "desc" as const }, price] },
      { ...query, sort: [price], text: { words: wordsOf("late"), fields: ["brand"] }, limit: 7 },
      { ...query, clauses: cheapest.clauses },
      { ...query, clauses: [{ field: "price_currency_US", op: "ne", value: "USD" } as const] },
    ]) {
      expect(await index.search(asked)).toEqual(await reference.search(asked));
    }
    index.close();
  });
});

describe("an update", () => {
  it("writes its row, and of what is derived only what differs", async () => {
    const database = SqliteDatabase.open(":memory:");
    prepareRowTables(database);
    const writer = new RowWriter(database);
    /** How many rows of all tables were written; those of the full-text index count several times. */
    const written = async (change: RowChange): Promise<number> => {
      const of = () => Number(database.prepare("SELECT total_changes() AS n").get()?.["n"]);
      const before = of();
      await database.write(() => writer.applyAll([change]));
      return of() - before;
    };
    await written(priced(1, 10, { brand: "Early" }, 1));
    expect(await written(priced(1, 10, { brand: "Early" }, 2))).toBe(1);
    // In the row and in the listing of its country.
    expect(await written(priced(1, 11, { brand: "Early" }, 3))).toBe(2);
    expect(await written(priced(1, 11, { brand: "Late" }, 4))).toBeGreaterThan(4);
    database.close();
  });
});

describe("an index in a file", () => {
  it("keeps its rows, and derives them again when its layout is another one", async () => {
    const path = newPath();
    const first = new SqliteRowIndex(path);
    const rows = Array.from({ length: 2_500 }, (_, n) =>
      priced(n, n % 7, { brand: n % 2 === 0 ? "Late" : "Early" }),
    );
    await first.apply(rows);
    await first.apply([
      { kind: "remove", collection: "products", record_id: recordIdFor("products", 7, 0), change: 2 },
    ]);
    const expected = await first.search(cheapest);
    expect(expected).toHaveLength(50);
    first.close();

    const database = SqliteDatabase.open(path);
    database.db.exec(
      "UPDATE row_layout SET created = 'an earlier one' WHERE collection = 'products'; DELETE FROM row_products;",
    );
    database.close();
    const second = new SqliteRowIndex(path);
    expect(await second.count("products")).toBe(2_499);
    expect(await second.search(cheapest)).toEqual(expected);
    expect(await second.apply([priced(0, 0, {}, 1)])).toEqual(["stale"]);
    second.close();

    const third = new SqliteRowIndex(path);
    expect(await third.search(cheapest)).toEqual(expected);
    third.close();
  });

  it("keeps no spelling of what was purged (X7)", async () => {
    const path = newPath();
    const index = new SqliteRowIndex(path);
    const named = (n: number, product_name: string, change = 1) => product(n, { product_name }, change);
    await index.apply([named(1, "lantern bright"), named(2, "candle bright"), named(3, "torch")]);
    await index.apply([named(3, "flame", 2)]);
    await index.apply([
      { kind: "remove", collection: "products", record_id: recordIdFor("products", 7, 1), change: 2 },
    ]);
    const database = SqliteDatabase.open(path);
    const spellings = () =>
      database.db
        .prepare("SELECT term FROM spelling_products")
        .all()
        .map(({ term }) => String(term))
        .filter((term) => ["lantern", "bright", "candle", "torch", "flame"].includes(term));
    expect(spellings()).toEqual(["bright", "candle", "flame", "lantern", "torch"]);
    await index.purge(["products"]);
    expect(spellings()).toEqual(["bright", "candle", "flame"]);
    database.close();
    index.close();
  });

  it("goes on after a removal", async () => {
    const database = SqliteDatabase.open(newPath());
    prepareRowTables(database);
    const writer = new RowWriter(database);
    database.db.exec("CREATE TABLE other (id TEXT PRIMARY KEY) WITHOUT ROWID");
    await database.write(() => writer.applyAll([priced(1, 1, {})]));
    await database.write(() =>
      writer.applyAll([
        { kind: "remove", collection: "products", record_id: recordIdFor("products", 7, 1), change: 2 },
      ]),
    );
    expect(await database.write((db) => db.prepare("INSERT INTO other VALUES ('a')").run().changes)).toBe(1);
    database.close();
  });
});
