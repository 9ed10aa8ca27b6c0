import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, it } from "vitest";
import { SqliteDatabase } from "./database.ts";
import { createLogFlush, type LogFlush } from "./log-durability.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-log-flush-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

/** A disk as slow as the test requires. */
class SlowDisk implements LogFlush {
  readonly beganBeside: PromiseWithResolvers<void>[] = [];
  flushedNow = 0;
  now(): void {
    this.flushedNow += 1;
  }
  beside(): Promise<void> {
    const flush = Promise.withResolvers<void>();
    this.beganBeside.push(flush);
    return flush.promise;
  }
  close(): void {}
}

function openOn(disk: LogFlush): SqliteDatabase {
  files += 1;
  const database = SqliteDatabase.open(join(folder, `${files}.db`), { logFlush: () => disk });
  database.migrate("item", ["CREATE TABLE item (name TEXT UNIQUE)"]);
  return database;
}

const insert = (database: SqliteDatabase, name: string): Promise<string> =>
  database.write((db) => {
    db.prepare("INSERT INTO item VALUES (?)").run(name);
    return name;
  });

const insertAll = (database: SqliteDatabase, names: string) =>
  [...names].map((name) => insert(database, name));

/** Resolves once everything that does not wait for anything external has run. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe("flushing beside the event loop", () => {
  it("D1: nobody is told before the log is on the disk", async () => {
    const disk = new SlowDisk();
    await using database = openOn(disk);
    const told: string[] = [];
    const all = insertAll(database, "abcd").map((each) => each.then((name) => told.push(name)));
    await settle();
    expect([disk.beganBeside.length, told]).toEqual([1, []]);
    disk.beganBeside[0]?.resolve();
    await Promise.all(all);
    expect(told).toEqual(["a", "b", "c", "d"]);
  });

  it("makes one group of whatever comes during a flush", async () => {
    const disk = new SlowDisk();
    await using database = openOn(disk);
    const first = insertAll(database, "abcd");
    await settle();
    const later = insertAll(database, "ef");
    await settle();
    later.push(...insertAll(database, "gh"));
    await settle();
    expect(database.prepare("SELECT count(*) AS n FROM item").get()).toEqual({ n: 4 });
    disk.beganBeside[0]?.resolve();
    await Promise.all(first);
    await settle();
    expect(disk.beganBeside).toHaveLength(2);
    disk.beganBeside[1]?.resolve();
    expect(await Promise.all(later)).toEqual(["e", "f", "g", "h"]);
  });

  it("D3: a flush that fails leaves it unknown, and D5: nothing is written after it that needs it", async () => {
    const disk = new SlowDisk();
    await using database = openOn(disk);
    const [first, ...others] = insertAll(database, "abcd");
    if (first === undefined) throw new Error("four are written");
    await settle();
    const after = database.writeAfter({ write: first, holds: () => true }, () => "written");
    disk.beganBeside[0]?.reject(new Error("no such disk"));
    for (const each of [first, ...others])
      await expect(each).rejects.toMatchObject({ name: "StoreError", effect: "unknown" });
    await expect(after).rejects.toMatchObject({ name: "StoreError", effect: "not_applied" });
    expect(await insert(database, "e")).toBe("e");
  });

  it("D3: after a flush that failed all of the log is in the file before anything is written behind it", async () => {
    const disk = new SlowDisk();
    files += 1;
    const path = join(folder, `${files}.db`);
    await using database = SqliteDatabase.open(path, { logFlush: () => disk, busyTimeoutMs: 0 });
    database.migrate("item", ["CREATE TABLE item (name TEXT UNIQUE)"]);
    using reader = new DatabaseSync(path);
    reader.exec("BEGIN; SELECT count(*) FROM item");
    const all = insertAll(database, "abcd");
    await settle();
    disk.beganBeside[0]?.reject(new Error("no such disk"));
    await Promise.allSettled(all);
    await expect(insert(database, "e")).rejects.toMatchObject({ name: "StoreError", effect: "not_applied" });
    reader.exec("ROLLBACK");
    const log = (): number => statSync(`${path}-wal`).size;
    const before = log();
    expect(await insert(database, "f")).toBe("f");
    expect(log()).toBeLessThan(before);
    expect(disk.flushedNow).toBe(1);
  });

  it("is not worth it for a few small writes: those are flushed at once", async () => {
    const disk = new SlowDisk();
    await using database = openOn(disk);
    expect(await Promise.all(insertAll(database, "abc"))).toEqual(["a", "b", "c"]);
    expect([disk.flushedNow, disk.beganBeside.length]).toEqual([1, 0]);
    const many = database.write((db) => {
      for (let row = 0; row < 64; row += 1) db.prepare("INSERT INTO item VALUES (?)").run(`row ${row}`);
    });
    await settle();
    expect([disk.flushedNow, disk.beganBeside.length]).toEqual([1, 1]);
    disk.beganBeside[0]?.resolve();
    await many;
  });

  it("is ended at once when the file is closed", async () => {
    const disk = new SlowDisk();
    const database = openOn(disk);
    const first = insertAll(database, "abcd");
    await settle();
    const waiting = insert(database, "e");
    database.close();
    expect(disk.flushedNow).toBe(2);
    expect(await Promise.all([...first, waiting])).toEqual(["a", "b", "c", "d", "e"]);
    disk.beganBeside[0]?.resolve();
    await settle();
  });

  it("reaches the disk through the real log, begun anew after checkpoints too (F2)", async () => {
    const path = join(folder, "real.db");
    await using database = SqliteDatabase.open(path);
    database.migrate("item", ["CREATE TABLE item (name TEXT UNIQUE)"]);
    for (const names of ["abcd", "efgh"]) {
      await Promise.all(insertAll(database, names));
      database.db.exec("PRAGMA wal_checkpoint(RESTART)");
    }
    expect(database.prepare("SELECT count(*) AS n FROM item").get()).toEqual({ n: 8 });
  });

  it("tells what the system says of a log that is not there", async () => {
    const flush = createLogFlush(join(folder, "nowhere.db"));
    expect(() => flush.now()).toThrow("ENOENT");
    await expect(flush.beside()).rejects.toThrow("ENOENT");
    flush.close();
  });
});

it("makes nobody wait for a disk that was slow the last time", async () => {
  const flushed: string[] = [];
  let nowMs = 0;
  const disk: LogFlush = {
    now: () => {
      flushed.push("now");
      for (const endMs = performance.now() + nowMs; performance.now() < endMs; );
    },
    beside: async () => void flushed.push("beside"),
    close: () => {},
  };
  await using database = openOn(disk);
  flushed.length = 0;
  nowMs = 20;
  await insert(database, "finds it slow");
  nowMs = 0;
  await insert(database, "does not wait here");
  expect(flushed).toEqual(["now", "beside"]);
});
