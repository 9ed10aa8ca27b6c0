import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { actorStoreConformance, type OpenActorStore } from "../actor-store.conformance.ts";
import type { CommitOutcome, PartitionRow } from "../actor-store.ts";
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
  it("finds a row by its text whatever its number, also after it was found that the table had none", async () => {
    await using database = SqliteDatabase.open(":memory:");
    const store = openSqliteActorStore(database, { now: () => 0 });
    const ref = { kind: "key", id: "k" };
    const found = async () => (await store.readRows(ref, [{ rt: 16, keys: ["a"] }])).map(({ k }) => k);
    const put = (k: number, head: number, epoch = 1) =>
      store.commit({
        ref,
        epoch,
        expectedHead: head,
        expectedOp: head === 0 ? "" : `${head}`,
        op: `${head + 1}`,
        puts: [{ rt: 16, k, k2: "a", body: "" }],
        deletes: [],
        wakeAtMs: null,
      });
    await store.claim(ref, "a");
    await put(0, 0);
    expect(await found()).toEqual([0]);
    await put(7, 1);
    expect(await found()).toEqual([0, 7]);
    const forget = { ref, epoch: 1, expectedHead: 2, expectedOp: "2", op: "3", puts: [], deletes: [] };
    await store.commit({ ...forget, wakeAtMs: null, forget: true });
    expect(await found()).toEqual([]);
    await store.claim(ref, "b", 9);
    expect(await found()).toEqual([]);
    await put(5, 0, 9);
    expect(await found()).toEqual([5]);
  });

  it("is asked twice for a claim of an actor that never was, and four times for one that slept", async () => {
    await using database = SqliteDatabase.open(":memory:");
    const asked: string[] = [];
    const prepare = database.prepare.bind(database);
    database.prepare = (sql) =>
      new Proxy(prepare(sql), {
        get: (statement, method) => {
          asked.push(sql.split(" ", 1).join());
          const member = Reflect.get(statement, method);
          return typeof member === "function" ? member.bind(statement) : member;
        },
      });
    const store = openSqliteActorStore(database, { now: () => 0 });
    const ref = { kind: "key", id: "k" };
    const askedFor = async (what: () => Promise<unknown>): Promise<readonly string[]> => {
      asked.length = 0;
      await what();
      return asked.filter((each) => !["BEGIN", "COMMIT", "PRAGMA"].includes(each));
    };
    expect(await askedFor(() => store.claim(ref, "a"))).toEqual(["SELECT", "INSERT"]);
    const following = {
      ref,
      epoch: 1,
      expectedHead: 0,
      expectedOp: "",
      op: "1",
      deletes: [],
      wakeAtMs: null,
    };
    // Its number is known since then.
    expect(await askedFor(() => store.commit({ ...following, puts: [] }))).toEqual(["UPDATE"]);
    expect(await askedFor(() => store.claim(ref, "b"))).toEqual(["SELECT", "UPDATE", "SELECT", "SELECT"]);
  });

  it("shares the transaction of a commit with what must not exist without it", async () => {
    const phases: string[] = [];
    await using database = SqliteDatabase.open(":memory:", { onCommit: (phase) => void phases.push(phase) });
    const store = openSqliteActorStore(database, { now: () => 0 });
    const first = {
      epoch: 1,
      expectedHead: 0,
      expectedOp: "",
      op: "1",
      puts: [],
      deletes: [],
      wakeAtMs: null,
    };
    for (const id of ["created", "claimed"]) {
      const ref = { kind: "key", id };
      if (id === "claimed") await store.claim(ref, "a");
      phases.length = 0;
      const write = store.commit(id === "claimed" ? { ...first, ref } : { ...first, ref, creates: "a" });
      const after = { write, holds: ({ status }: CommitOutcome) => status === "applied" };
      await database.writeAfter(after, () => {});
      expect(phases).toEqual(["before", "after"]);
    }
  });

  it("forgets expired rows in the course of later commits, and only those", async () => {
    let nowMs = 1_000;
    await using database = SqliteDatabase.open(":memory:");
    const store = openSqliteActorStore(database, { now: () => nowMs });
    const ref = { kind: "key", id: "k" };
    await store.claim(ref, "a");
    let head = 0;
    const commit = (puts: readonly PartitionRow[]) => {
      head += 1;
      const expected = { expectedHead: head - 1, expectedOp: head === 1 ? "" : `${head - 1}` };
      return store.commit({ ref, epoch: 1, ...expected, op: `${head}`, puts, deletes: [], wakeAtMs: null });
    };
    const rows = (name: string, count: number, expiresAtMs: number): readonly PartitionRow[] =>
      Array.from({ length: count }, (_, i) => ({ rt: 16, k: 0, k2: `${name}${i}`, body: "", expiresAtMs }));
    const lasting = [{ rt: 16, k: 0, k2: "for ever", body: "" }, ...rows("kept", 400, 2_000_000)];
    await commit([...rows("n", 600, 2_000), ...lasting]);
    const names = async () => (await store.readRows(ref, [{ rt: 16, limit: 2_000 }])).map((row) => row.k2);
    const wanted = lasting.map((row) => row.k2).sort();
    nowMs = 2_000;
    for (let i = 0; i < 8; i += 1) await commit(rows("early", 64, 2_000_000));
    expect((await names()).filter((name) => name.startsWith("n")).length).toBe(600);
    nowMs = 2_001;
    // One step for every 64 rows written: the whole table and its beginning once more.
    for (let i = 0; i < 8; i += 1) await commit(rows("early", 64, 2_000_000));
    expect((await names()).filter((name) => !name.startsWith("early"))).toEqual(wanted);
  });

  it("walks for rows that will expire only", async () => {
    await using database = SqliteDatabase.open(":memory:");
    const store = openSqliteActorStore(database, { now: () => 2 });
    const ref = { kind: "key", id: "k" };
    await store.claim(ref, "a");
    const row = { rt: 16, k: 0, body: "" };
    const lasting = Array.from({ length: 600 }, (_, i) => ({ ...row, k2: `${i}` }));
    const puts = [...lasting, { ...row, k2: "old", expiresAtMs: 1 }];
    const fence = { ref, epoch: 1, expectedHead: 0, expectedOp: "", op: "1" };
    await store.commit({ ...fence, puts, deletes: [], wakeAtMs: null });
    expect(await store.readRows(ref, [{ rt: 16, keys: ["old"] }])).toHaveLength(1);
  });

  it("begins at another actor with each start, and leaves none out", async () => {
    const path = join(folder, "walked.db");
    const refs = ["a", "b", "c"].map((id) => ({ kind: "key", id }));
    const expired = { rt: 16, k: 0, k2: "x", body: "", expiresAtMs: 1 };
    const lasting = Array.from({ length: 64 }, (_, k) => ({
      rt: 17,
      k,
      k2: "",
      body: "",
      expiresAtMs: 2_000_000,
    }));
    const starts = [
      { nowMs: 2, puts: [expired], left: ["a", "b", "c"] },
      { nowMs: 2, puts: lasting, left: ["a"] },
      { nowMs: 4, puts: lasting, left: [] },
    ];
    for (const { nowMs, puts, left } of starts) {
      await using database = SqliteDatabase.open(path);
      const store = openSqliteActorStore(database, { now: () => nowMs });
      const kept: string[] = [];
      for (const ref of refs) {
        const { epoch, head, op } = (await store.claim(ref, "n")).head;
        // One actor has as many rows as a step takes.
        const rows = puts === lasting && ref.id !== "c" ? [] : puts;
        const fence = { ref, epoch, expectedHead: head, expectedOp: op, op: `${epoch}` };
        await store.commit({ ...fence, puts: rows, deletes: [], wakeAtMs: null });
      }
      for (const ref of refs) {
        if ((await store.readRows(ref, [{ rt: 16, limit: 9 }])).length > 0) kept.push(ref.id);
      }
      expect(kept).toEqual(left);
    }
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
