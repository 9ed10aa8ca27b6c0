import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { actorStoreConformance, type OpenActorStore } from "../actor-store.conformance.ts";
import { openSqliteActorStore } from "./actor-store.ts";
import { SqliteDatabase } from "./database.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-actor-store-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

function openFile(path: string): OpenActorStore {
  const database = SqliteDatabase.open(path);
  const store = openSqliteActorStore(database, { now: () => Date.now() });
  return {
    store,
    // The first connection stays open, as a process that was only paused would keep it.
    reopen: async () => {
      const next = openFile(path);
      return {
        ...next,
        close: async () => Promise.all([next.close(), database.close()]).then(() => undefined),
      };
    },
    close: async () => database.close(),
  };
}

actorStoreConformance("the SQLite store", async () => {
  files += 1;
  return openFile(join(folder, `${files}.db`));
});

describe("the SQLite store", () => {
  it("forgets expired rows in the course of later commits, and only those", async () => {
    let nowMs = 1_000;
    await using database = SqliteDatabase.open(":memory:");
    const store = openSqliteActorStore(database, { now: () => nowMs });
    const ref = { kind: "key", id: "k" };
    await store.claim(ref, "a");
    const rows = Array.from({ length: 600 }, (_, i) => ({
      rt: 16,
      k: 0,
      k2: `n${i}`,
      body: "",
      expiresAtMs: 2_000,
    }));
    const kept = { rt: 16, k: 0, k2: "kept", body: "", expiresAtMs: 2_000_000 };
    const commit = { ref, epoch: 1, deletes: [], wakeAtMs: null };
    await store.commit({ ...commit, expectedHead: 0, expectedOp: "", op: "1", puts: [...rows, kept] });
    const count = async () => (await store.readRows(ref, [{ rt: 16, limit: 1_000 }])).length;
    nowMs = 2_000;
    await store.commit({ ...commit, expectedHead: 1, expectedOp: "1", op: "2", puts: [] });
    expect(await count()).toBe(601);
    nowMs = 3_001;
    await store.commit({ ...commit, expectedHead: 2, expectedOp: "2", op: "3", puts: [] });
    expect(await count()).toBe(101);
    await store.commit({ ...commit, expectedHead: 3, expectedOp: "3", op: "4", puts: [] });
    expect(await store.readRows(ref, [{ rt: 16, limit: 1_000 }])).toEqual([kept]);
  });

  it("finds due actors through an index, never by a scan", () => {
    const database = SqliteDatabase.open(":memory:");
    openSqliteActorStore(database, { now: () => 0 });
    const plan = (sql: string): string =>
      database.db
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all()
        .map((row) => String(row["detail"]))
        .join("; ");
    const due = plan("SELECT kind, id, wake_at FROM actor_head WHERE wake_at <= 5 ORDER BY wake_at LIMIT 3");
    expect(due).toContain("USING INDEX actor_due");
    expect(due).not.toContain("TEMP B-TREE");
    database.close();
  });
});
