import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { dose } from "../../tools/test-dose.ts";
import { SqliteDatabase, type SqliteOptions } from "./database.ts";
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

function openOn(disk: LogFlush, options: SqliteOptions = {}): SqliteDatabase {
  files += 1;
  const database = SqliteDatabase.open(join(folder, `${files}.db`), { ...options, logFlush: () => disk });
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

const many = (name: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${name}${index}`);

function countOf(database: SqliteDatabase): unknown {
  return database.prepare("SELECT count(*) AS n FROM item").get()?.["n"];
}

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

  it("runs what fills a group while another is flushed, and acknowledges it by a flush that began after it (D1)", async () => {
    const disk = new SlowDisk();
    await using database = openOn(disk);
    const told: string[] = [];
    const tell = (name: string): void => void told.push(name);
    const all = many("a", 64).map((name) => insert(database, name).then(tell));
    await settle();
    // Half of them is being flushed, and the other half is committed.
    expect([disk.beganBeside.length, countOf(database), told.length]).toEqual([1, 64, 0]);
    disk.beganBeside[0]?.resolve();
    await settle();
    expect([disk.beganBeside.length, told.length]).toEqual([2, 32]);
    all.push(...many("b", 32).map((name) => insert(database, name).then(tell)));
    all.push(insert(database, "c").then(tell));
    await settle();
    // They fill a group, so they run before the flush of the others has ended.
    expect([disk.beganBeside.length, countOf(database), told.length]).toEqual([2, 97, 32]);
    disk.beganBeside[1]?.resolve();
    await settle();
    expect([disk.beganBeside.length, told.length]).toEqual([3, 64]);
    disk.beganBeside[2]?.resolve();
    await Promise.all(all);
    expect(told).toEqual([...many("a", 64), ...many("b", 32), "c"]);
  });

  it("makes one group of the few that come during a flush", async () => {
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

  it("D3: a flush that fails leaves also those unknown that were committed after it began", async () => {
    const disk = new SlowDisk();
    await using database = openOn(disk);
    const all = many("a", 64).map((name) => insert(database, name));
    await settle();
    expect([disk.beganBeside.length, countOf(database)]).toEqual([1, 64]);
    const [first, last] = [all[0], all[63]];
    if (first === undefined || last === undefined) throw new Error("64 are written");
    // Neither waits for the flush: both are refused, because what they follow is unknown.
    const after = [first, last].map((write) => database.writeAfter({ write, holds: () => true }, () => "no"));
    disk.beganBeside[0]?.reject(new Error("no such disk"));
    for (const each of await Promise.allSettled(all))
      expect(each).toMatchObject({ status: "rejected", reason: { effect: "unknown" } });
    for (const each of await Promise.allSettled(after))
      expect(each).toMatchObject({ status: "rejected", reason: { effect: "not_applied" } });
    expect(disk.beganBeside).toHaveLength(1);
    expect(await insert(database, "b")).toBe("b");
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

  it("is ended at once when the file is closed, with what was committed meanwhile", async () => {
    const disk = new SlowDisk();
    const phases: string[] = [];
    const database = openOn(disk, { onCommit: (phase) => void phases.push(phase) });
    const all = many("a", 65).map((name) => insert(database, name));
    await settle();
    expect(countOf(database)).toBe(65);
    database.close();
    expect(disk.flushedNow).toBe(1);
    expect(await Promise.all(all)).toEqual(many("a", 65));
    disk.beganBeside[0]?.resolve();
    await settle();
    expect(phases).toEqual(["before", "before", "after", "after"]);
  });

  it("is ended at once when the file is closed, and what waits is flushed after it", async () => {
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

it("makes nobody wait for a disk that was slow, before sixteen flushes were quick", async () => {
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
  for (let at = 1; at < 16; at += 1) await insert(database, `quick ${at}`);
  expect(flushed.slice(1)).toEqual(Array(16).fill("beside"));
  // On a busy machine one of them may have been slow.
  for (let at = 16; at < 1_000 && flushed.at(-1) !== "now"; at += 1) await insert(database, `quick ${at}`);
  expect(flushed.at(-1)).toBe("now");
});

// A loss of power at any moment leaves of the log what was flushed, and everything that was acknowledged is in that.

/**
 * A disk that has of the log only what a flush which ended well had found there, without what a flush that failed had found:
 * an operating system considers that clean and never writes it.
 */
class PowerlessDisk implements LogFlush {
  readonly #path: string;
  /** The beginning of each log, of which a restart makes another one: its salts tell them apart. */
  #salts = "";
  #flushed = 0;
  #lost: [from: number, to: number][] = [];
  #flushes: { readonly salts: string; readonly size: number; readonly told: PromiseWithResolvers<void> }[] =
    [];
  fails = false;

  constructor(path: string) {
    this.#path = path;
  }

  now(): void {
    const size = this.#log().length;
    if (!this.fails) this.#flushed = size;
    else {
      this.#lost.push([this.#flushed, size]);
      throw new Error("no such disk");
    }
  }

  beside(): Promise<void> {
    const size = this.#log().length;
    const told = Promise.withResolvers<void>();
    this.#flushes.push({ salts: this.#salts, size, told });
    return told.promise;
  }

  /** Ends the flush that began first. */
  end(): void {
    const flush = this.#flushes.shift();
    if (flush === undefined) return;
    this.#log();
    if (flush.salts === this.#salts) {
      if (this.fails) this.#lost.push([this.#flushed, flush.size]);
      else this.#flushed = Math.max(this.#flushed, flush.size);
    }
    if (this.fails) flush.told.reject(new Error("no such disk"));
    else flush.told.resolve();
  }

  /** What a machine that starts again finds. */
  namesAfterLoss(): ReadonlySet<unknown> {
    const log = this.#log().subarray(0, this.#flushed);
    for (const range of this.#lost) log.subarray(...range).fill(0);
    const image = `${this.#path}-image`;
    writeFileSync(image, readFileSync(this.#path));
    writeFileSync(`${image}-wal`, log);
    rmSync(`${image}-shm`, { force: true });
    using found = new DatabaseSync(image);
    return new Set(
      found
        .prepare("SELECT name FROM item")
        .all()
        .map(({ name }) => name),
    );
  }

  close(): void {}

  #log(): Buffer {
    // Closing the file removes its log.
    const log = existsSync(`${this.#path}-wal`) ? readFileSync(`${this.#path}-wal`) : Buffer.alloc(0);
    const salts = log.subarray(16, 24).toString("hex");
    if (salts !== this.#salts) {
      this.#salts = salts;
      this.#flushed = 0;
      this.#lost = [];
    }
    return log;
  }
}

const happenings = fc.oneof(
  { weight: 3, arbitrary: fc.record({ write: fc.constantFrom(1, 5, 32, 64, 100) }) },
  { weight: 2, arbitrary: fc.constant("turn" as const) },
  { weight: 2, arbitrary: fc.constant("flushed" as const) },
  { weight: 1, arbitrary: fc.constant("not flushed" as const) },
);
type Happening = typeof happenings extends fc.Arbitrary<infer T> ? T : never;

/** Fails if power could be lost at a moment at which anything is acknowledged that would not be found afterwards. */
async function losePower(happening: readonly Happening[], flawed = (disk: LogFlush): LogFlush => disk) {
  files += 1;
  const path = join(folder, `${files}.db`);
  const disk = new PowerlessDisk(path);
  const database = SqliteDatabase.open(path, { logFlush: () => flawed(disk) });
  database.migrate("item", ["CREATE TABLE item (name TEXT UNIQUE)"]);
  disk.now();
  const told: string[] = [];
  const checkAfter = async (what: Happening | "closed"): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    const found = disk.namesAfterLoss();
    const lost = told.filter((name) => !found.has(name));
    if (lost.length > 0) throw new Error(`${JSON.stringify(what)} would lose ${lost.join()}`);
  };
  let written = 0;
  for (const each of happening) {
    disk.fails = each === "not flushed";
    if (typeof each === "object") {
      for (let left = each.write; left > 0; left -= 1) {
        written += 1;
        insert(database, `n${written}`).then(
          (name) => void told.push(name),
          () => {},
        );
      }
    } else if (each !== "turn") disk.end();
    await checkAfter(each);
  }
  disk.fails = false;
  database.close();
  await checkAfter("closed");
}

describe("a loss of power", () => {
  const runs = { numRuns: dose(300) };
  const life = fc.array(happenings, { minLength: 3, maxLength: 16 });

  it("takes nothing that was acknowledged, whatever is being flushed and whatever failed (property)", async () => {
    await fc.assert(
      fc.asyncProperty(life, (each) => losePower(each)),
      runs,
    );
  });

  it("would take what is acknowledged before its flush has ended, or although that failed", async () => {
    const hasty = (disk: LogFlush): LogFlush => ({
      now: () => disk.now(),
      beside: async () => void disk.beside(),
      close: () => disk.close(),
    });
    await expect(losePower([{ write: 5 }, "turn"], hasty)).rejects.toThrow("would lose n1");
    const careless = (disk: LogFlush): LogFlush => ({
      ...hasty(disk),
      beside: () => disk.beside().catch(() => {}),
    });
    await expect(losePower([{ write: 5 }, "not flushed"], careless)).rejects.toThrow("would lose n1");
  });
});
