import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { textMatchKey } from "../../collections/definition.ts";
import { StoreError } from "../actor-store.ts";
import { recordIdFor, wordsOf } from "../row-index.fixture.ts";
import type { RowChange, RowHit } from "../row-index.ts";
import { SqliteRowIndex } from "./row-index.ts";
import type { RowOrder, RowThreadData } from "./row-thread.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-row-thread-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
let path = "";
beforeEach(() => {
  files += 1;
  path = join(folder, `${files}.db`);
});

/** Product n with that name; the name is its row's only text. */
function named(n: number, change: number, name: string): RowChange {
  const row = JSON.stringify({ countries: ["US"], product_name: name });
  return {
    kind: "put",
    collection: "products",
    record_id: recordIdFor("products", 1, n),
    business_uuid: "b",
    generation: change,
    change,
    row,
  };
}

function removal(n: number, change: number): RowChange {
  return { kind: "remove", collection: "products", record_id: recordIdFor("products", 1, n), change };
}

/** Names of the rows that contain a word, in the order of their ids; the thread is asked before this returns. */
function search(index: SqliteRowIndex, word: string): Promise<readonly string[]> {
  const hits = index.search({
    collection: "products",
    country: "US",
    text: { words: wordsOf(word), fields: ["product_name"] },
    clauses: [],
    sort: [{ field: textMatchKey, direction: "desc" }],
    limit: 50,
    excludeBusinesses: [],
  });
  return hits.then((found) => found.map(nameOf));
}

function nameOf({ row }: RowHit): string {
  return (JSON.parse(row) as { product_name: string }).product_name;
}

/** Blocks this thread, and so all answers, until the file has this change of a product. */
function untilCommitted(n: number, change: number): void {
  using file = new DatabaseSync(path, { readOnly: true });
  const read = file.prepare("SELECT change FROM row_entry WHERE record_id = ?");
  const endMs = performance.now() + 30_000;
  while (read.get(recordIdFor("products", 1, n))?.["change"] !== change)
    if (performance.now() > endMs) throw new Error("it is not committed");
}

const start = (data: RowThreadData, file: string): Worker =>
  new Worker(new URL(file, import.meta.url), { workerData: data });

/** Number of transactions in the log. */
function commitsInLog(): number {
  const log = readFileSync(`${path}-wal`);
  const frame = 24 + log.readUInt32BE(8);
  let commits = 0;
  // A frame that ends a transaction contains the resulting size of the file (sqlite.org/fileformat2.html, §4.1).
  for (let at = 32; at + frame <= log.length; at += frame) if (log.readUInt32BE(at + 4) > 0) commits += 1;
  return commits;
}

describe("a search while applies are committed and not answered yet", () => {
  it("finds no row by what it said, nor one that was removed (I4)", async () => {
    await using index = new SqliteRowIndex(path);
    await index.apply([named(1, 1, "old hat"), named(2, 1, "old shoe"), named(3, 1, "old coat")]);
    expect(await search(index, "old")).toHaveLength(3);
    const applied = index.apply([named(1, 2, "new hat"), removal(2, 2)]);
    untilCommitted(2, 2);
    const [old, shoe] = [search(index, "old"), search(index, "shoe")];
    expect(await applied).toEqual(["applied", "applied"]);
    expect([await old, await shoe]).toEqual([["old coat"], []]);
    expect([await search(index, "new"), await search(index, "hat")]).toEqual([["new hat"], ["new hat"]]);
  });

  it("may read texts anew that their notes are still to come for", async () => {
    await using index = new SqliteRowIndex(path);
    await index.apply([named(1, 1, "old hat"), named(2, 1, "old shoe"), named(3, 1, "coat")]);
    const answers = [
      index.apply([named(1, 2, "hat"), removal(3, 2), named(4, 1, "old coat")]),
      index.apply([named(1, 3, "old hat again"), removal(2, 2), named(3, 3, "old coat again")]),
    ];
    untilCommitted(3, 3);
    // Nothing was in memory before: all of this reflects the file as it is now.
    const expected = ["old coat", "old coat again", "old hat again"];
    expect([...(await search(index, "old"))].sort()).toEqual(expected);
    await Promise.all(answers);
    expect([...(await search(index, "old"))].sort()).toEqual(expected);
    expect(await search(index, "shoe")).toEqual([]);
  });

  it("is of one state of the file, whatever is committed meanwhile (I3)", async () => {
    await using index = new SqliteRowIndex(path, { synchronous: "NORMAL", groupMax: 1 });
    const rows = 40;
    const all = (each: (n: number) => RowChange) => Array.from({ length: rows }, (_, n) => each(n));
    await index.apply(all((n) => named(n, 1, "red hat")));
    let isOver = false;
    const rounds = Array.from({ length: 150 }, (_, round) => 2 * round + 2);
    const applied = Promise.all(
      rounds.flatMap((change) => [
        index.apply(all((n) => removal(n, change))),
        index.apply(all((n) => named(n, change + 1, "red hat"))),
      ]),
    ).then(() => {
      isOver = true;
    });
    // A row that was removed between two statements of a search would have no text.
    const seen = new Set<number>();
    while (!isOver) {
      for (let times = 0; times < 20; times += 1) seen.add((await search(index, "red")).length);
      await setImmediate();
    }
    await applied;
    expect([...seen].filter((count) => count !== 0 && count !== rows)).toEqual([]);
    expect(await search(index, "red")).toHaveLength(rows);
  });

  it("leaves a new row out that it cannot rank yet", async () => {
    await using index = new SqliteRowIndex(path);
    await index.apply([named(1, 1, "red hat")]);
    expect(await search(index, "red")).toEqual(["red hat"]);
    const applied = index.apply([named(2, 1, "blue hat")]);
    untilCommitted(2, 1);
    const [blue, hat] = [search(index, "blue"), search(index, "hat")];
    await applied;
    expect([await blue, await hat]).toEqual([[], ["red hat"]]);
    expect([await search(index, "blue"), await search(index, "hat")]).toMatchObject([
      ["blue hat"],
      { length: 2 },
    ]);
  });
});

describe("the thread that writes the row index", () => {
  it("W1: puts what waits together into one transaction, and takes nothing of it along with a failure", async () => {
    await using index = new SqliteRowIndex(path);
    const before = commitsInLog();
    const bad = { ...named(2, 1, ""), row: "no JSON" } as RowChange;
    // They wait until the thread has started.
    const [first, second, third] = await Promise.allSettled([
      index.apply([named(1, 1, "one")]),
      index.apply([named(5, 1, "five"), bad]),
      index.apply([named(3, 1, "three"), named(1, 1, "late")]),
    ]);
    expect(first).toEqual({ status: "fulfilled", value: ["applied"] });
    expect(second).toMatchObject({ status: "rejected", reason: expect.any(SyntaxError) });
    expect(third).toEqual({ status: "fulfilled", value: ["applied", "stale"] });
    expect(await index.count("products")).toBe(2);
    // One is the thread's own, from opening the file.
    expect(commitsInLog() - before).toBeLessThanOrEqual(2);
  });

  it("W2: rejects what it did not answer when it dies, is started again, and nothing of before is believed (I5)", async () => {
    await using before = new SqliteRowIndex(path);
    await before.apply([named(1, 1, "old hat")]);
    before.close();
    let starts = 0;
    await using index = new SqliteRowIndex(
      path,
      {},
      {
        writing: (data) => {
          starts += 1;
          return start(data, starts === 1 ? "./dying-row-worker.fixture.ts" : "./row-worker.ts");
        },
      },
    );
    expect([await search(index, "hat"), await search(index, "shoe")]).toEqual([["old hat"], []]);
    const lost = await Promise.allSettled([
      index.apply([named(1, 2, "new shoe")]),
      index.apply([named(2, 1, "other")]),
    ]);
    for (const each of lost) {
      expect(each).toMatchObject({ status: "rejected", reason: expect.any(StoreError) });
      expect(each).toMatchObject({ reason: { effect: "unknown" } });
    }
    // It was committed, and its note is lost.
    expect(await search(index, "shoe")).toEqual(["new shoe"]);
    expect(await index.apply([named(1, 2, "new shoe"), named(3, 1, "third shoe")])).toEqual([
      "stale",
      "applied",
    ]);
    expect(await search(index, "third")).toEqual(["third shoe"]);
    expect(starts).toBe(2);
  });

  it("W2: is started again after it was ended from outside", async () => {
    const workers: Worker[] = [];
    await using index = new SqliteRowIndex(
      path,
      {},
      {
        writing: (data) => {
          const worker = start(data, "./row-worker.ts");
          workers.push(worker);
          return worker;
        },
      },
    );
    const lost = index.apply([named(1, 1, "one")]);
    void workers[0]?.terminate();
    await expect(lost).rejects.toMatchObject({ effect: "unknown" });
    await index.apply([named(1, 1, "one"), named(2, 1, "two")]);
    expect(await index.count("products")).toBe(2);
    expect(workers).toHaveLength(2);
  });

  it("W3: lets the process end, but not before what is under way is done", async () => {
    const script = join(import.meta.dirname, "unclosed-index.fixture.ts");
    const { stdout } = await promisify(execFile)(process.execPath, [script, path]);
    expect(stdout).toBe("applied 0\n");
  });

  it("W4: has committed everything and let go of the file when the index is closed", async () => {
    const index = new SqliteRowIndex(path);
    const applied = Array.from({ length: 30 }, (_, n) => index.apply([named(n, 1, `name ${n}`)]));
    index.close();
    expect(existsSync(`${path}-wal`)).toBe(false);
    using file = new DatabaseSync(path, { readOnly: true });
    expect(file.prepare("SELECT count(*) AS n FROM row_entry").get()).toEqual({ n: 30 });
    expect((await Promise.all(applied)).flat()).toEqual(Array(30).fill("applied"));
    await expect(index.apply([named(1, 2, "late")])).rejects.toMatchObject({ effect: "not_applied" });
  });

  it("W5: is posted no more rows at once than it may be, and all in the end", async () => {
    const posted: number[] = [];
    await using index = new SqliteRowIndex(
      path,
      {},
      {
        writing: (data) => {
          const worker = start(data, "./row-worker.ts");
          const post = worker.postMessage.bind(worker);
          worker.postMessage = (order: RowOrder) => {
            if (order.kind === "apply") posted.push(order.changes.length);
            post(order);
          };
          return worker;
        },
      },
    );
    const removals = (from: number) => Array.from({ length: 1_500 }, (_, n) => removal(from + n, 1));
    const applied = [0, 1_500, 3_000, 4_500].map((from) => index.apply(removals(from)));
    expect(posted).toEqual([1_500, 1_500]);
    expect((await Promise.all(applied)).flat()).toEqual(Array(6_000).fill("applied"));
    expect(posted).toEqual([1_500, 1_500, 1_500, 1_500]);
  });
});
