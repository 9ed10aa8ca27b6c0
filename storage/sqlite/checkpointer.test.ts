import { once } from "node:events";
import { readdirSync, rmSync } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { SqliteDatabase } from "./database.ts";
import { createCheckpointer, longPages } from "./log-durability.ts";

let folder = "";
let path = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-checkpoint-"));
  path = join(folder, "store.db");
});

afterEach(() => rm(folder, { recursive: true }));

function makeTable(database: SqliteDatabase): void {
  database.migrate("test", ["CREATE TABLE t (k INTEGER PRIMARY KEY, body TEXT NOT NULL)"]);
}

/** Writes until the thread has copied some of the log; returns the number of rows written. */
async function writeUntilCopied(database: SqliteDatabase): Promise<number> {
  makeTable(database);
  const before = (await stat(path)).size;
  let written = 0;
  const patience = Date.now() + 20_000;
  // The writer alone would leave its log uncopied for far longer than 40,000 rows; from then on it waits for the thread, which may
  // have to start.
  while ((await stat(path)).size === before && Date.now() < patience) {
    const rows = written < 40_000 ? 1_000 : 1;
    await database.write((db) => {
      const insert = db.prepare("INSERT INTO t VALUES (?, ?)");
      for (let index = 0; index < rows; index += 1) insert.run(written + index, "x".repeat(100));
    });
    written += rows;
    if (rows === 1) await delay(10);
  }
  expect((await stat(path)).size).toBeGreaterThan(before);
  return written;
}

describe("the checkpointer", () => {
  it("copies the log into the file while the writer goes on, and loses nothing", async () => {
    const database = SqliteDatabase.open(path);
    const written = await writeUntilCopied(database);
    database.close();
    const again = SqliteDatabase.open(path);
    expect(again.prepare("SELECT count(*) AS n FROM t").get()).toEqual({ n: written });
    again.close();
  });

  it("P4: has the writer copy the rest of a long log, which then begins again, and of no short one", async () => {
    using db = new DatabaseSync(path);
    db.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (body TEXT NOT NULL)");
    const insert = db.prepare("INSERT INTO t VALUES (?)");
    const log = () =>
      db.prepare("PRAGMA wal_checkpoint(NOOP)").get() as { log: number; checkpointed: number };
    const rests: { log: number; checkpointed: number }[] = [];
    const checkpointer = createCheckpointer(path, () => {
      rests.push(log());
      db.exec("PRAGMA wal_checkpoint(PASSIVE)");
    });
    const copied = async (changes: number): Promise<void> => {
      const before = (await stat(path)).size;
      checkpointer.committed(changes);
      insert.run("committed while it is copied".padEnd(changes * 4_000));
      await vi.waitUntil(async () => (await stat(path)).size > before, { timeout: 60_000 });
    };
    insert.run("x".repeat(12_000_000));
    await copied(1_000);
    for (let round = 1; round <= 3; round += 1) {
      insert.run("x".repeat(36_000_000));
      await copied(1_000 * (round + 1));
      await vi.waitUntil(() => rests.length >= round, { timeout: 60_000 });
      insert.run("begins the log again");
      expect([rests.length, log().log < 10]).toEqual([round, true]);
    }
    expect(Math.min(...rests.map((rest) => rest.log))).toBeGreaterThan(longPages);
    // The thread has copied what came while it copied, unless this one was slower than its copy.
    expect(Math.min(...rests.map((rest) => rest.log - rest.checkpointed))).toBeLessThan(1_000);
    checkpointer.close();
  });

  it("P3: has let go of the file when the database is closed, which then removes the log", async () => {
    const database = SqliteDatabase.open(path);
    await writeUntilCopied(database);
    expect(readdirSync(folder)).toContain("store.db-wal");
    database.close();
    expect(readdirSync(folder)).toEqual(["store.db"]);
  });

  it("P3: leaves alone what was closed and removed before the thread came to it", async () => {
    const removed = join(folder, "removed.db");
    SqliteDatabase.open(removed).close();
    const database = SqliteDatabase.open(path);
    const before = Array.from({ length: 500 }, () => createCheckpointer(path));
    for (const each of before) each.committed(1_000);
    const late = createCheckpointer(removed);
    late.committed(1_000);
    late.close();
    rmSync(removed);
    // The thread takes its orders in turn: these come after the one about the file that is gone.
    await writeUntilCopied(database);
    for (const each of before) each.close();
    database.close();
    expect(readdirSync(folder)).toEqual(["store.db"]);
  });

  it("is not needed by a database that copies its log itself, within the COMMIT", async () => {
    const database = SqliteDatabase.open(path, { checkpoints: "self" });
    makeTable(database);
    const bytes = 16_000_000;
    await database.write((db) => db.prepare("INSERT INTO t (body) VALUES (?)").run("x".repeat(bytes)));
    expect((await stat(path)).size).toBeGreaterThan(bytes);
    database.close();
    expect(readdirSync(folder)).toEqual(["store.db"]);
  });

  it("is done by the database itself also while others read without end, once the log is long", async () => {
    const database = SqliteDatabase.open(path, { checkpoints: "self" });
    makeTable(database);
    const isOver = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const readers = new Worker(new URL("./endless-readers.fixture.ts", import.meta.url), {
      workerData: { path, isOver },
    });
    await once(readers, "message");
    let longest = 0;
    for (let at = 0; at < 40; at += 1) {
      await database.write((db) => db.prepare("INSERT INTO t (body) VALUES (?)").run("x".repeat(2_000_000)));
      longest = Math.max(longest, (await stat(`${path}-wal`)).size);
    }
    Atomics.store(isOver, 0, 1);
    await once(readers, "exit");
    database.close();
    // 80 MB were written.
    expect(longest).toBeLessThan(40_000_000);
  });
});
