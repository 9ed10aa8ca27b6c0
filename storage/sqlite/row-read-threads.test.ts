import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { textMatchKey } from "../../collections/definition.ts";
import { Unavailable } from "../../std/unavailable.ts";
import { recordIdFor, wordsOf } from "../row-index.fixture.ts";
import type { RowChange, RowQuery } from "../row-index.ts";
import { SqliteRowIndex } from "./row-index.ts";
import { type RowReadData, type RowReadOrder, rowReadThreads } from "./row-read-threads.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-row-readers-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
let path = "";
beforeEach(() => {
  files += 1;
  path = join(folder, `${files}.db`);
});

/** Product n with that name. */
function named(n: number, change: number, name: string): RowChange {
  return {
    kind: "put",
    collection: "products",
    record_id: recordIdFor("products", 1, n),
    business_uuid: "b",
    generation: change,
    change,
    row: JSON.stringify({ countries: ["US"], product_name: name }),
  };
}

function queryFor(word: string): RowQuery {
  return {
    collection: "products",
    country: "US",
    text: { words: wordsOf(word), fields: ["product_name"] },
    clauses: [],
    sort: [{ field: textMatchKey, direction: "desc" }],
    limit: 50,
    excludeBusinesses: [],
  };
}

async function found(index: SqliteRowIndex, word: string): Promise<number> {
  return (await index.search(queryFor(word))).length;
}

const start = (workerData: RowReadData, file = "./row-read-worker.ts"): Worker =>
  new Worker(new URL(file, import.meta.url), { workerData });

/** Starts threads, and notes of each what it is posted. */
function watched(posted: RowReadOrder[][]) {
  return (data: RowReadData): Worker => {
    const worker = start(data);
    const orders: RowReadOrder[] = [];
    posted.push(orders);
    const post = worker.postMessage.bind(worker);
    worker.postMessage = (order: RowReadOrder) => {
      orders.push(order);
      post(order);
    };
    return worker;
  };
}

describe("the threads that search the row index", () => {
  it("R1, R6: each find what was applied before, and a second one is started only for a second search", async () => {
    const posted: RowReadOrder[][] = [];
    await using index = new SqliteRowIndex(path, {}, { searching: watched(posted), searches: 2 });
    await index.apply([named(1, 1, "red hat")]);
    expect([await found(index, "hat"), await found(index, "hat")]).toEqual([1, 1]);
    expect(posted).toHaveLength(1);
    for (let n = 2; n < 30; n += 1) {
      await index.apply([named(n, 1, `hat number${n}`), named(1, n, `scarf${n}`)]);
      const both = [found(index, "hat"), found(index, "hat"), found(index, `scarf${n}`)];
      expect(await Promise.all(both)).toEqual([n - 1, n - 1, 1]);
    }
    expect(posted).toHaveLength(2);
  });

  it("R2: are told of texts once they were asked for one, and of every apply", async () => {
    const posted: RowReadOrder[][] = [];
    await using index = new SqliteRowIndex(path, {}, { searching: watched(posted), searches: 1 });
    await index.apply([named(1, 1, "red hat")]);
    expect(await index.count("products")).toBe(1);
    await index.apply([named(2, 1, "blue hat")]);
    expect(await found(index, "hat")).toBe(2);
    await index.apply([named(3, 1, "green hat"), named(4, 1, "scarf")]);
    expect([await found(index, "hat"), await found(index, "scarf")]).toEqual([3, 1]);
    const applied = posted.flat().flatMap((order) => (order.kind === "applied" ? [order] : []));
    expect(applied.map(({ changes, notes }) => [...changes.values(), notes !== null])).toEqual([
      [1, false],
      [2, true],
    ]);
  });

  it("R3: reject what they did not answer when they die, and others take their place", async () => {
    let starts = 0;
    const searching = (data: RowReadData): Worker => {
      starts += 1;
      return starts === 1 ? start(data, "./dying-row-reader.fixture.ts") : start(data);
    };
    await using index = new SqliteRowIndex(path, {}, { searching, searches: 1 });
    await index.apply([named(1, 1, "red hat")]);
    const lost = await Promise.allSettled([index.search(queryFor("hat")), index.count("products")]);
    for (const each of lost) {
      expect(each).toMatchObject({ status: "rejected", reason: expect.any(Unavailable) });
      expect(each).toMatchObject({ reason: { reason: "index", retryAfterSeconds: 1 } });
    }
    await index.apply([named(2, 1, "blue hat")]);
    expect(await found(index, "hat")).toBe(2);
    await index.apply([named(3, 1, "green hat")]);
    expect(await found(index, "hat")).toBe(3);
    expect(starts).toBe(2);
  });

  it("reject a search with what it threw, and go on", async () => {
    await using index = new SqliteRowIndex(path);
    await index.apply([named(1, 1, "red hat")]);
    const unknown = { ...queryFor("hat"), sort: [{ field: "colour", direction: "asc" }] } as const;
    await expect(index.search(unknown)).rejects.toThrow("no index field colour");
    expect(await found(index, "hat")).toBe(1);
  });

  it("R5: have answered and let go of the file when the index is closed", async () => {
    const index = new SqliteRowIndex(path, {}, { searches: 2 });
    await index.apply([named(1, 1, "red hat")]);
    const asked = Array.from({ length: 500 }, () => found(index, "hat"));
    index.close();
    expect(existsSync(`${path}-wal`)).toBe(false);
    expect(new Set(await Promise.all(asked))).toEqual(new Set([1]));
    await expect(found(index, "hat")).rejects.toThrow("closed");
  });

  it("leave a core to the main thread, and are never more than two", () => {
    expect([1, 2, 3, 4, 64].map(rowReadThreads)).toEqual([1, 1, 2, 2, 2]);
  });
});
