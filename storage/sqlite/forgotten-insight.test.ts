import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { InsightCount } from "../insight-store.ts";
import { SqliteDatabase } from "./database.ts";
import { openSqliteEventStore } from "./event-store.ts";
import { openSqliteInsightStore } from "./insight-store.ts";

let folder: string;
let database: SqliteDatabase;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-forgotten-"));
  database = SqliteDatabase.open(join(folder, "store.db"));
});
afterEach(() => {
  database.close();
  rmSync(folder, { recursive: true, force: true });
});

const many = Array.from({ length: 300 }, (_, n) => String(n).padStart(4, "0"));

/** Which of the texts the whole file contains, including the content of its log. */
async function foundOf(texts: readonly string[]): Promise<readonly string[]> {
  const emptied = () => database.db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.["busy"] === 0;
  // The log may just be read on another thread.
  while (!emptied()) await delay(20);
  const bytes = readFileSync(join(folder, "store.db"));
  return texts.filter((text) => bytes.includes(text));
}

it("subjects and counts of forgotten days are written over in the file", async () => {
  const store = openSqliteInsightStore(database);
  const count = (name: string, day: string): InsightCount => ({
    name,
    day,
    country: "US",
    collection: "products",
    company: "company",
    writer: "w.0",
    searches: 1,
    rows: 1,
    fetches: 0,
  });
  const old = many.map((n) => `old-subject-${n}`);
  const fresh = many.map((n) => `new-subject-${n}`);
  for (const kind of ["shown", "demand"] as const) {
    await store.put(
      kind,
      old.map((name) => count(name, "2026-03-04")),
    );
    await store.put(
      kind,
      fresh.map((name) => count(name, "2026-03-05")),
    );
  }
  expect(await foundOf(old)).toEqual(old);
  while ((await store.forget("2026-03-05", 100)) === 100);
  // A page that is in use may contain the beginning of a deleted row until it is rewritten.
  expect((await foundOf(old)).length).toBeLessThan(4);
  expect(await foundOf(fresh)).toEqual(fresh);
});

it("what others free in the file afterwards is written over as before", async () => {
  const secret = "a-secret-of-another-table";
  database.db.exec(`CREATE TABLE other (text TEXT); INSERT INTO other VALUES ('${secret}'), ('kept')`);
  const store = openSqliteEventStore(database, () => 1_000);
  await store.put("eu-west1", [{ company: "company", retrieval_id: "ret_1", body: "{}" }]);
  expect(await foundOf([secret])).toEqual([secret]);
  database.db.exec(`DELETE FROM other WHERE text = '${secret}'`);
  expect(await foundOf([secret, "kept"])).toEqual(["kept"]);
});

it("events that are over their time are written over in the file", async () => {
  let nowMs = 1_000;
  const store = openSqliteEventStore(database, () => nowMs);
  const events = (prefix: string) =>
    many.map((n) => ({
      company: "company",
      retrieval_id: `ret_${prefix}${n}`,
      body: `{"q":"${prefix}-${n}"}`,
    }));
  await store.put("eu-west1", events("old"));
  nowMs = 2_000;
  await store.put("eu-west1", events("new"));
  const asked = (prefix: string) => many.map((n) => `"${prefix}-${n}"`);
  expect(await foundOf(asked("old"))).toHaveLength(many.length);
  while ((await store.forget(2_000, 100)) === 100);
  expect((await foundOf(asked("old"))).length).toBeLessThan(4);
  expect(await foundOf(asked("new"))).toHaveLength(many.length);
});
