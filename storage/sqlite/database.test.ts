import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, it } from "vitest";
import { SqliteDatabase } from "./database.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-database-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const steps = ["CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT UNIQUE)"];

function items(database: SqliteDatabase): unknown[] {
  return database
    .prepare("SELECT name FROM item ORDER BY id")
    .all()
    .map((row) => row["name"]);
}

function insert(database: SqliteDatabase, name: string): Promise<unknown> {
  return database.write((db) => db.prepare("INSERT INTO item (name) VALUES (?)").run(name).changes);
}

it("reads a file through memory only as far as it is told to, and what others wrote to it meanwhile", async () => {
  const path = join(folder, "mapped.db");
  await using plain = SqliteDatabase.open(path);
  plain.migrate("item", steps);
  plain.db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  await using mapped = SqliteDatabase.open(path, { mappedBytesMax: 1024 * 1024 });
  const mappedOf = (database: SqliteDatabase) => database.db.prepare("PRAGMA mmap_size").get()?.["mmap_size"];
  expect([plain, mapped].map(mappedOf)).toEqual([0, 1024 * 1024]);
  const names = Array.from({ length: 2_000 }, (_, index) => `${index} ${"x".repeat(100)}`);
  await Promise.all(names.map((name) => insert(plain, name)));
  expect(items(mapped)).toEqual(names);
  plain.db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  expect(items(mapped)).toEqual(names);
});

describe("group commit", () => {
  it("D1: works of one turn share a transaction, and none is seen before it is committed", async () => {
    await using database = SqliteDatabase.open(join(folder, "d1.db"));
    database.migrate("item", steps);
    const seen: boolean[] = [];
    const inTransaction = (): void => void seen.push(database.db.isTransaction);
    const both = Promise.all([
      database.write(inTransaction),
      insert(database, "a"),
      database.write(inTransaction),
    ]);
    expect(items(database)).toEqual([]);
    await both;
    expect(seen).toEqual([true, true]);
    expect(database.db.isTransaction).toBe(false);
    const other = SqliteDatabase.open(join(folder, "d1.db"));
    expect(items(other)).toEqual(["a"]);
    other.close();
  });

  it("D2: a work that throws fails alone, with all that it had written", async () => {
    await using database = SqliteDatabase.open(":memory:");
    database.migrate("item", steps);
    const outcomes = await Promise.allSettled([
      insert(database, "a"),
      database.write((db) => {
        db.exec("INSERT INTO item (name) VALUES ('lost')");
        throw new RangeError("a bug of the caller");
      }),
      insert(database, "a"),
      insert(database, "b"),
    ]);
    expect(outcomes.map((outcome) => outcome.status)).toEqual([
      "fulfilled",
      "rejected",
      "rejected",
      "fulfilled",
    ]);
    expect(outcomes[1]).toMatchObject({ reason: { name: "RangeError" } });
    expect(outcomes[2]).toMatchObject({ reason: { name: "StoreError", effect: "not_applied" } });
    expect(items(database)).toEqual(["a", "b"]);
  });

  it("D3: a file that another process holds locked is a failure known not to have been applied", async () => {
    const path = join(folder, "d3.db");
    await using database = SqliteDatabase.open(path, { busyTimeoutMs: 0 });
    database.migrate("item", steps);
    const other = SqliteDatabase.open(path);
    other.db.exec("BEGIN IMMEDIATE");
    await expect(insert(database, "a")).rejects.toMatchObject({ name: "StoreError", effect: "not_applied" });
    other.db.exec("ROLLBACK");
    other.close();
    await insert(database, "b");
    expect(items(database)).toEqual(["b"]);
  });

  it("D3: a COMMIT that fails rejects the whole group and leaves nothing open", async () => {
    await using database = SqliteDatabase.open(":memory:");
    database.db.exec("PRAGMA foreign_keys = ON");
    database.migrate("item", [
      "CREATE TABLE parent (id INTEGER PRIMARY KEY)",
      "CREATE TABLE child (id INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)",
    ]);
    const outcomes = await Promise.allSettled([
      database.write((db) => db.exec("INSERT INTO parent VALUES (1)")),
      database.write((db) => db.exec("INSERT INTO child VALUES (2)")),
    ]);
    for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: { effect: "unknown" } });
    expect(database.db.isTransaction).toBe(false);
    expect(database.prepare("SELECT count(*) AS n FROM parent").get()).toEqual({ n: 0 });
  });

  it("D2: a full disk fails the work that needs room, known not to have been applied, and nothing after room was made", async () => {
    const path = join(folder, "full.db");
    await using database = SqliteDatabase.open(path);
    database.migrate("item", steps);
    const pages = (count: number): void => database.db.exec(`PRAGMA max_page_count = ${count}`);
    const used = Number(Object.values(database.prepare("PRAGMA page_count").get() ?? {})[0]);
    pages(used);
    const big = "x".repeat(100_000);
    const outcomes = await Promise.allSettled([insert(database, "a"), insert(database, big)]);
    expect(outcomes[1]).toMatchObject({ reason: { name: "StoreError", effect: "not_applied" } });
    expect(items(database)).toEqual(outcomes[0]?.status === "fulfilled" ? ["a"] : []);
    expect(database.db.isTransaction).toBe(false);
    pages(used + 1_000);
    await insert(database, big);
    expect(items(database)).toContain(big);
  });

  it("D3: is told of a COMMIT before and after; what is thrown there leaves its outcome unknown, whatever it was", async () => {
    const phases: string[] = [];
    let fail = "";
    const onCommit = (phase: string): void => {
      phases.push(phase);
      if (phase === fail) throw new Error("nobody can know");
    };
    await using database = SqliteDatabase.open(":memory:", { onCommit });
    database.migrate("item", steps);
    await insert(database, "a");
    fail = "before";
    await expect(insert(database, "b")).rejects.toMatchObject({ effect: "unknown" });
    fail = "after";
    await expect(insert(database, "c")).rejects.toMatchObject({ effect: "unknown" });
    expect(phases).toEqual(["before", "after", "before", "before", "after"]);
    expect(items(database)).toEqual(["a", "c"]);
  });

  it("D5: what depends on an earlier work shares its COMMIT, and is refused with it", async () => {
    let commits = 0;
    let fail = false;
    const database = SqliteDatabase.open(join(folder, "d5.db"), {
      onCommit: (phase) => {
        if (phase !== "before") return;
        commits += 1;
        if (fail) throw new Error("no");
      },
    });
    await database.write((db) => db.exec("CREATE TABLE t (v)"));
    commits = 0;
    const insert = (value: string) => () => database.prepare("INSERT INTO t VALUES (?)").run(value);
    const earlier = database.write(() => "applied");
    const holds = (result: string): boolean => result === "applied";
    await database.writeAfter({ write: earlier, holds }, insert("with"));
    expect(commits).toBe(1);
    await database.writeAfter({ write: earlier, holds }, insert("later"));
    const refused = database.write(() => "refused");
    await expect(database.writeAfter({ write: refused, holds }, insert("never"))).rejects.toMatchObject({
      effect: "not_applied",
    });
    const thrown = database.write((): string => {
      throw new Error("mine");
    });
    thrown.catch(() => {});
    await expect(database.writeAfter({ write: thrown, holds }, insert("never"))).rejects.toThrow();
    fail = true;
    const failed = database.write(() => "applied");
    failed.catch(() => {});
    const alongside = database.writeAfter({ write: failed, holds }, insert("never"));
    await expect(alongside).rejects.toMatchObject({ effect: "unknown" });
    fail = false;
    const afterwards = database.writeAfter({ write: failed, holds }, insert("never"));
    await expect(afterwards).rejects.toMatchObject({ effect: "not_applied" });
    expect(database.prepare("SELECT v FROM t").all()).toEqual([{ v: "with" }, { v: "later" }]);
    database.close();
  });

  it("splits a long queue into bounded transactions and keeps its order", async () => {
    await using database = SqliteDatabase.open(":memory:", { groupMax: 3 });
    database.migrate("item", steps);
    const names = Array.from({ length: 10 }, (_, i) => `n${i}`);
    const all = Promise.all(names.map((name) => insert(database, name)));
    await new Promise((resolve) => setImmediate(resolve));
    expect(items(database)).toEqual(names.slice(0, 3));
    await all;
    expect(items(database)).toEqual(names);
  });

  it("commits what is waiting when it is closed, and refuses what comes later", async () => {
    const path = join(folder, "close.db");
    const database = SqliteDatabase.open(path);
    database.migrate("item", steps);
    const waiting = insert(database, "a");
    database.close();
    await waiting;
    await expect(insert(database, "b")).rejects.toMatchObject({ effect: "not_applied" });
    await using again = SqliteDatabase.open(path);
    expect(items(again)).toEqual(["a"]);
  });
});

describe("migrations", () => {
  it("run once each, in order, and keep what is there", async () => {
    const path = join(folder, "migrate.db");
    const database = SqliteDatabase.open(path);
    database.migrate("item", steps);
    await insert(database, "a");
    database.close();
    await using again = SqliteDatabase.open(path);
    again.migrate("item", [...steps, "ALTER TABLE item ADD COLUMN size INTEGER DEFAULT 3"]);
    expect(again.prepare("SELECT name, size FROM item").all()).toEqual([{ name: "a", size: 3 }]);
  });

  it("a step that fails undoes them all", async () => {
    await using database = SqliteDatabase.open(":memory:");
    expect(() => database.migrate("item", [...steps, "NOT SQL"])).toThrow();
    database.migrate("item", steps);
    expect(items(database)).toEqual([]);
  });

  it("tables of a later version are refused rather than guessed at", async () => {
    const path = join(folder, "later.db");
    await using database = SqliteDatabase.open(path);
    database.migrate("item", [...steps, "SELECT 1"]);
    expect(() => database.migrate("item", steps)).toThrow(/version 2, known are 1/);
    database.db.exec("PRAGMA user_version = 99");
    expect(() => SqliteDatabase.open(path)).toThrow(/version 99/);
  });

  it("a database of another program is refused and left as it is", () => {
    const path = join(folder, "other.db");
    using other = new DatabaseSync(path);
    other.exec("CREATE TABLE migration (name TEXT PRIMARY KEY, version INTEGER NOT NULL)");
    for (let times = 0; times < 2; times += 1)
      expect(() => SqliteDatabase.open(path)).toThrow(
        `${path} is a database of another program: start with an empty folder`,
      );
    expect(other.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "delete" });
  });
});
