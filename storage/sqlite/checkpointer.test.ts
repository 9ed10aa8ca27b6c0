import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SqliteDatabase } from "./database.ts";

describe("the checkpointer", () => {
  it("P3: has let go of the file when the database is closed", async () => {
    const folder = await mkdtemp(join(tmpdir(), "svc-checkpoint-"));
    const path = join(folder, "store.db");
    for (let times = 0; times < 5; times += 1) {
      const database = SqliteDatabase.open(path);
      database.migrate("test", ["CREATE TABLE t (body TEXT NOT NULL)"]);
      await database.write((db) => {
        const insert = db.prepare("INSERT INTO t VALUES (?)");
        for (let row = 0; row < 2_000; row += 1) insert.run("x".repeat(100));
      });
      database.close();
      // The last connection removes the log: there is no other.
      expect(await readdir(folder)).toEqual(["store.db"]);
      await rm(path);
    }
    await rm(folder, { recursive: true });
  });

  it("copies the log into the file while the writer goes on, and loses nothing", async () => {
    const folder = await mkdtemp(join(tmpdir(), "svc-checkpoint-"));
    const path = join(folder, "store.db");
    const database = SqliteDatabase.open(path);
    database.migrate("test", ["CREATE TABLE t (k INTEGER PRIMARY KEY, body TEXT NOT NULL)"]);
    const before = (await stat(path)).size;
    let written = 0;
    // The writer alone would leave its log uncopied for far longer than this.
    while ((await stat(path)).size === before && written < 40_000) {
      await database.write((db) => {
        const insert = db.prepare("INSERT INTO t VALUES (?, ?)");
        for (let index = 0; index < 1_000; index += 1) insert.run(written + index, "x".repeat(100));
      });
      written += 1_000;
    }
    expect((await stat(path)).size).toBeGreaterThan(before);
    database.close();
    const again = SqliteDatabase.open(path);
    expect(again.prepare("SELECT count(*) AS n FROM t").get()).toEqual({ n: written });
    again.close();
    await rm(folder, { recursive: true });
  });
});
