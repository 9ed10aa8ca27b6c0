import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, it } from "vitest";
import { queryWords } from "../../collections/text-analysis.ts";
import { hashOf, utf8 } from "../../protocol/bytes.ts";
import { eventStoreConformance, type OpenEventStore } from "../event-store.conformance.ts";
import {
  conformanceBounds,
  evidenceOf,
  evidenceStoreConformance,
  type OpenEvidenceStore,
} from "../evidence-store.conformance.ts";
import { evidenceKeptMs } from "../evidence-store.ts";
import { fenceLedgerConformance } from "../fence-ledger.conformance.ts";
import type { FenceLedger } from "../fence-ledger.ts";
import { imageStoreConformance, type OpenImageStore } from "../image-store.conformance.ts";
import { insightStoreConformance } from "../insight-store.conformance.ts";
import { listStoreConformance, type OpenListStore, versionOf } from "../list-store.conformance.ts";
import { abandonedAfterMs, type ListStore } from "../list-store.ts";
import { factsOf, hashed, wholeBatch } from "../receipt-batch.fixture.ts";
import { receiptReferenceConformance, receiptStoreConformance } from "../receipt-store.conformance.ts";
import { recordStoreConformance } from "../record-store.conformance.ts";
import { registerStoreConformance } from "../register-store.conformance.ts";
import { openSqliteActorStore } from "./actor-store.ts";
import { SqliteDatabase } from "./database.ts";
import { openSqliteEventStore } from "./event-store.ts";
import { openSqliteEvidenceStore } from "./evidence-store.ts";
import { openSqliteFenceLedger } from "./fence-ledger.ts";
import { openSqliteImageStore } from "./image-store.ts";
import { openSqliteInsightStore } from "./insight-store.ts";
import { body, row } from "./killed-writer.fixture.ts";
import { openSqliteListStore } from "./list-store.ts";
import { openSqliteReceiptStore } from "./receipt-store.ts";
import { openSqliteRecordStore } from "./record-store.ts";
import { openSqliteRegisterStore } from "./register-store.ts";
import { SqliteRowIndex } from "./row-index.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-stores-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

function freshFile(): string {
  files += 1;
  return join(folder, `${files}.db`);
}

interface OpenStore<S> {
  readonly store: S;
  reopen(): Promise<OpenStore<S>>;
  close(): Promise<void>;
}

/** Opens a store in a file; the connection that is «lost» stays open, as that of a paused process would. */
function openIn<S>(path: string, make: (database: SqliteDatabase) => S): OpenStore<S> {
  const database = SqliteDatabase.open(path);
  return {
    store: make(database),
    async reopen() {
      const next = openIn(path, make);
      return {
        ...next,
        async close() {
          await next.close();
          database.close();
        },
      };
    },
    close: async () => database.close(),
  };
}

recordStoreConformance("the SQLite store", async () => openIn(freshFile(), openSqliteRecordStore));
receiptStoreConformance("the SQLite store", async () => openIn(freshFile(), openSqliteReceiptStore));
receiptReferenceConformance("the SQLite store", async () => {
  const database = SqliteDatabase.open(freshFile());
  const [receipts, records] = [openSqliteReceiptStore(database), openSqliteRecordStore(database)];
  return { receipts, records, close: async () => database.close() };
});
registerStoreConformance("the SQLite store", async () => openIn(freshFile(), openSqliteRegisterStore));
insightStoreConformance("the SQLite store", async () => openIn(freshFile(), openSqliteInsightStore));
eventStoreConformance("the SQLite store", async () => {
  let passedMs = 0;
  const open = (
    opened: ReturnType<typeof openIn<ReturnType<typeof openSqliteEventStore>>>,
  ): OpenEventStore => ({
    ...opened,
    reopen: async () => open(await opened.reopen()),
    pass: (ms) => {
      passedMs += ms;
    },
  });
  return open(openIn(freshFile(), (database) => openSqliteEventStore(database, () => Date.now() + passedMs)));
});
imageStoreConformance("the SQLite store", async (bytesMax) => {
  let passedMs = 0;
  const open = (
    opened: ReturnType<typeof openIn<ReturnType<typeof openSqliteImageStore>>>,
  ): OpenImageStore => ({
    ...opened,
    reopen: async () => open(await opened.reopen()),
    pass: (ms) => {
      passedMs += ms;
    },
  });
  const now = () => Date.now() + passedMs;
  return open(openIn(freshFile(), (database) => openSqliteImageStore(database, { bytesMax, now })));
});
evidenceStoreConformance("the SQLite store", async (): Promise<OpenEvidenceStore> => {
  const opening = { bounds: conformanceBounds, now: Date.now };
  return openIn(freshFile(), (database) => openSqliteEvidenceStore(database, opening));
});
const filesOfList = (path: string, list: string): number => {
  const db = new DatabaseSync(path);
  const { files } = db
    .prepare(
      `SELECT count(*) AS files FROM (SELECT file FROM operator_list_file WHERE list = ?1
         UNION SELECT file FROM operator_list_bytes WHERE list = ?1)`,
    )
    .get(list) as { readonly files: number };
  db.close();
  return files;
};

listStoreConformance("the SQLite store", async (): Promise<OpenListStore> => {
  const path = freshFile();
  let passedMs = 0;
  const now = () => Date.now() + passedMs;
  const open = (opened: OpenStore<ListStore>): OpenListStore => ({
    ...opened,
    reopen: async () => open(await opened.reopen()),
    files: async (list) => filesOfList(path, list),
    pass: (ms) => {
      passedMs += ms;
    },
  });
  return open(openIn(path, (database) => openSqliteListStore(database, now)));
});

describe("operators' lists in SQLite", () => {
  it("a writer that died before the end leaves the version before in force, and its bytes go later (OL2, OL4)", async () => {
    const path = freshFile();
    let nowMs = 0;
    await using database = SqliteDatabase.open(path);
    const store = openSqliteListStore(database, () => nowMs);
    const [first, second] = [versionOf("terms", 1, 3_000_000), versionOf("terms", 2, 3_000_000)];
    await store.set(first, new Uint8Array(3_000_000), null);
    await store.set(second, new Uint8Array(3_000_000), null);
    const db = new DatabaseSync(path);
    db.exec("DELETE FROM operator_list WHERE version = 2");
    db.close();
    expect(await store.versions("terms", 9)).toEqual([first]);
    expect(filesOfList(path, "terms")).toBe(2);
    nowMs = abandonedAfterMs + 1;
    await store.set(versionOf("terms", 2, 1), new Uint8Array(1), null);
    expect(await store.read(second)).toBeNull();
    expect(filesOfList(path, "terms")).toBe(2);
  });
});

fenceLedgerConformance("the SQLite store", async () => {
  const path = freshFile();
  const opened: OpenStore<FenceLedger>[] = [];
  return {
    region: "local-node1",
    handle: async () => {
      const next = openIn(path, openSqliteFenceLedger);
      opened.push(next);
      return next.store;
    },
    close: async () => {
      for (const each of opened) await each.close();
    },
  };
});

describe("evidence in SQLite", () => {
  it("that is half here, because its writer died, is not shown, and is found by who forgets it (ES1)", async () => {
    const path = freshFile();
    const file = evidenceOf(3_000_000);
    const rows = (sql: string) => {
      const db = new DatabaseSync(path);
      const found = db.prepare(sql).all();
      db.close();
      return found;
    };
    await using database = SqliteDatabase.open(path);
    const store = openSqliteEvidenceStore(database, { bounds: conformanceBounds, now: Date.now });
    await store.put(file);
    rows("DELETE FROM evidence_bytes WHERE part = 2");
    expect(await store.read(file)).toBeNull();
    await store.forget({ application: file.application, file: null });
    for (const table of ["evidence", "evidence_bytes", "evidence_room"])
      expect(rows(`SELECT application FROM ${table}`)).toEqual([]);
  });

  it("that nobody forgot is forgotten after its time, and overwritten (EV4, ES2)", async () => {
    const path = freshFile();
    let nowMs = 0;
    const file = evidenceOf(600_000);
    {
      await using database = SqliteDatabase.open(path);
      const store = openSqliteEvidenceStore(database, { bounds: conformanceBounds, now: () => nowMs });
      await store.put(file);
      nowMs = evidenceKeptMs;
      await store.put(evidenceOf(1));
      expect(await store.read(file)).not.toBeNull();
      nowMs += 1;
      await store.put(evidenceOf(1));
      expect(await store.read(file)).toBeNull();
    }
    // In the middle, which begins no page.
    expect(readFileSync(path).includes(file.bytes.subarray(300_000, 300_100))).toBe(false);
  });
});

/** Starts the writer, kills it once it has reported `count` writes, and returns the numbers of all reported writes. */
async function writeAndKill(kind: string, path: string, count: number): Promise<readonly number[]> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const script = join(import.meta.dirname, "killed-writer.fixture.ts");
  const child = spawn(process.execPath, [script, kind, path], { stdio: ["ignore", "pipe", "inherit"] });
  let told = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    told += chunk;
    if (told.split("\n").length > count) child.kill("SIGKILL");
  });
  child.on("error", reject);
  child.on("close", (_code, signal) =>
    signal === "SIGKILL" ? resolve(told) : reject(new Error("it ended by itself")),
  );
  return (await promise).split("\n").slice(0, -1).map(Number);
}

describe("after its process was killed", () => {
  it.each([3, 60, 400])("a record store serves every version that was acknowledged (%i)", async (count) => {
    const path = freshFile();
    const told = await writeAndKill("record", path, count);
    await using database = SqliteDatabase.open(path);
    const store = openSqliteRecordStore(database);
    const served = await Promise.all(told.map((n) => store.readServed(`svc_${n}`)));
    expect(served.map((each) => each?.version.row)).toEqual(told.map(body));
    expect(told.length).toBeGreaterThanOrEqual(count);
  });

  it.each([3, 1_000])("an actor store has every commit that was acknowledged (%i)", async (count) => {
    const path = freshFile();
    const told = await writeAndKill("actor", path, count);
    await using database = SqliteDatabase.open(path);
    const store = openSqliteActorStore(database, { now: Date.now });
    const found = told.map(async (n) => {
      const ref = { kind: "k", id: `${n}` };
      const [rows, head] = [await store.readRows(ref, [{ rt: 16, keys: [""] }]), await store.readHead(ref)];
      return [head?.op, rows.map((each) => each.body)];
    });
    expect(await Promise.all(found)).toEqual(told.map((n) => [`${n}`, [body(n)]]));
    expect(told.length).toBeGreaterThanOrEqual(count);
  });

  it.each([3, 400])("a receipt store has every receipt that was acknowledged (%i)", async (count) => {
    const path = freshFile();
    const told = await writeAndKill("receipt", path, count);
    await using database = SqliteDatabase.open(path);
    const store = openSqliteReceiptStore(database);
    const batch = new Map(
      (await wholeBatch(store, "r", "202611211358-i1")).map((row) => [row.retrieval_id, row.hash]),
    );
    expect(told.map((n) => batch.get(`${n}`))).toEqual(told.map((n) => hashOf(utf8(body(n)))));
    expect(await store.openBatches("r", "202611211359", 5)).toEqual(["202611211358-i1"]);
  });

  it.each([3, 400])(
    "a register has every entry that was acknowledged, and numbers on (%i)",
    async (count) => {
      const path = freshFile();
      const told = await writeAndKill("register", path, count);
      await using database = SqliteDatabase.open(path);
      const store = openSqliteRegisterStore(database);
      const entries = new Map((await store.list("key", "p")).map((each) => [each.key, each.body]));
      expect(told.map((n) => entries.get(`${n}`))).toEqual(told.map(body));
      const feed = store.follow();
      const all = (await feed.next(100_000)).entries;
      expect(new Set(all.map((each) => each.key))).toEqual(new Set(entries.keys()));
      await store.put([{ table: "party", partition: "p", key: "next", change: 1, body: "{}" }]);
      expect((await feed.next(5)).entries.map((each) => each.key)).toEqual(["next"]);
    },
  );

  it.each([3, 60, 400])("a row index finds every row that was acknowledged (%i)", async (count) => {
    const path = freshFile();
    const told = await writeAndKill("index", path, count);
    await using index = new SqliteRowIndex(path);
    expect(told.length).toBeGreaterThanOrEqual(count);
    // Later writes removed the others; some that were not reported are there as well.
    const last = Math.max(...told);
    for (const n of told.filter((each) => each > last - 10)) {
      const hits = await index.search({
        collection: "products",
        country: "US",
        text: { words: queryWords(`w${n}`), fields: ["product_name"] },
        clauses: [],
        sort: [{ field: "published_at", direction: "asc" }],
        limit: 50,
        excludeBusinesses: [],
      });
      expect(hits.map((hit) => hit.row)).toEqual([row(n)]);
    }
    using file = new DatabaseSync(path);
    expect(file.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    const live = file.prepare("SELECT count(*) AS n FROM row_entry WHERE row IS NOT NULL").get();
    expect(live).toEqual({ n: await index.count("products") });
  });
});

describe("the SQLite stores", () => {
  it("share one file", async () => {
    await using database = SqliteDatabase.open(freshFile());
    const [records, receipts, register] = [
      openSqliteRecordStore(database),
      openSqliteReceiptStore(database),
      openSqliteRegisterStore(database),
    ];
    await Promise.all([
      records.putStagedDocument("bat_1", "plan", "{}"),
      receipts.closeBatch(
        { region: "r", batch: "202611211358-i1", root: "x", tree_size: 0, closed_at_ms: 1 },
        [],
      ),
      register.put([{ table: "party", partition: "p", key: "p", change: 1, body: "{}" }]),
    ]);
    expect(await records.readStagedDocument("bat_1", "plan")).toBe("{}");
    expect(await receipts.openBatches("r", "202611211359", 5)).toEqual([]);
    expect(await register.get("party", "p")).not.toBeNull();
  });

  it("write to a batch by its own number after the one that made it was undone", async () => {
    let fails = false;
    const onCommit = (phase: string): void => {
      if (fails && phase === "before") throw new Error("no commit");
    };
    await using database = SqliteDatabase.open(freshFile(), { onCommit });
    const store = openSqliteReceiptStore(database);
    const row = {
      region: "r",
      company: "c",
      key_id: "k",
      nonce: "n",
      billable: true,
      served_at_ms: 1,
      envelope: "{}",
      event: "{}",
    };
    const one = hashed({ ...row, batch: "197001010000-i1", retrieval_id: "ret_000000000001" });
    const two = hashed({ ...row, batch: "197001010000-i2", retrieval_id: "ret_000000000002" });
    fails = true;
    await expect(store.append(one)).rejects.toThrow("no commit");
    fails = false;
    // Another batch takes the number meanwhile.
    await openSqliteReceiptStore(database).append(two);
    for (const each of [one, { ...one, retrieval_id: "ret_000000000003" }]) await store.append(each);
    expect(await wholeBatch(store, "r", two.batch)).toEqual([factsOf(two)]);
    expect((await wholeBatch(store, "r", one.batch)).length).toBe(2);
  });

  it("never lose what late receipts added to a repeated earlier close", async () => {
    await using database = SqliteDatabase.open(freshFile());
    const store = openSqliteReceiptStore(database);
    const closed = { region: "r", batch: "202611211358-i1", root: "x", tree_size: 1, closed_at_ms: 1 };
    await store.closeBatch(closed, []);
    await store.closeBatch({ ...closed, root: "y", tree_size: 2 }, []);
    await store.closeBatch(closed, []);
    expect(await store.readClosed("r", closed.batch)).toMatchObject({ root: "y", tree_size: 2 });
  });

  it("keep the first of two heads, and of two entries, that share a change", async () => {
    await using database = SqliteDatabase.open(freshFile());
    const [records, register] = [openSqliteRecordStore(database), openSqliteRegisterStore(database)];
    const head = {
      record_id: "r",
      business_uuid: "b",
      type: "products",
      live: true,
      generation: 1,
      change: 5,
    };
    for (const hash of ["h2", "h1", "h3"]) await records.putHeads([{ ...head, hash }]);
    expect(await records.readHead("r")).toEqual({ ...head, hash: "h2" });
    const entry = { table: "key", partition: "p", key: "k", change: 5 } as const;
    for (const body of ["2", "1", "3"]) await register.put([{ ...entry, body }]);
    expect(await register.get("key", "k")).toEqual({ ...entry, body: "2" });
  });

  it("give a follower each entry once, oldest first, and nothing twice", async () => {
    await using database = SqliteDatabase.open(freshFile());
    const store = openSqliteRegisterStore(database);
    const put = (key: string, change: number) =>
      store.put([{ table: "key", partition: "p", key, change, body: "{}" }]);
    for (const key of ["c", "a", "b"]) await put(key, 1);
    await put("a", 2);
    await put("c", 1);
    const feed = store.follow();
    const pages = [await feed.next(2), await feed.next(2), await feed.next(2)];
    expect(pages.map((page) => page.entries.map((each) => each.key))).toEqual([["c", "b"], ["a"], []]);
    expect(pages.map((page) => page.more)).toEqual([true, false, false]);
  });

  it("refuse a cursor of a listing that is none of theirs", async () => {
    await using database = SqliteDatabase.open(freshFile());
    const store = openSqliteRecordStore(database);
    for (const cursor of ["", "x", "after"]) {
      await expect(store.listHeads(cursor, 1)).rejects.toThrow(RangeError);
      await expect(store.listCatalogue("b", cursor, 1)).rejects.toThrow(RangeError);
    }
  });

  it("stage leaves in packs, whatever their sizes, and take over those of a file from before", async () => {
    await using database = SqliteDatabase.open(freshFile());
    const packs = () =>
      database.db
        .prepare("SELECT leaf, leaves FROM staged_pack ORDER BY push_id, leaf")
        .all()
        .map(Object.values);
    const store = openSqliteRecordStore(database);
    const leaf = (size: number, fill: number) => new Uint8Array(size).fill(fill);
    const leaves = [
      leaf(200_000, 1),
      leaf(60_000, 2),
      leaf(60_000, 3),
      leaf(0, 4),
      leaf(400_000, 5),
      leaf(1, 6),
    ];
    await store.stageLeaves("large", 0, leaves);
    expect(packs()).toEqual([
      [0, 2],
      [2, 2],
      [4, 1],
      [5, 1],
    ]);
    expect(await store.loadLeaves("large", 0, 200)).toEqual(leaves);
    expect(await store.loadLeaves("large", 1, 3)).toEqual(leaves.slice(1, 4));
    await store.dropStaged("large");
    const small = Array.from({ length: 450 }, (_, index) => leaf(2, index % 256));
    await store.stageLeaves("small", 150, small);
    expect(packs()).toEqual([
      [150, 50],
      [200, 200],
      [400, 200],
    ]);
    expect(await store.loadLeaves("small", 0, 1_000)).toEqual(small);
    expect(await store.loadLeaves("small", 399, 2)).toEqual(small.slice(249, 251));
    // One that begins alike and has more replaces the one before, and not the reverse.
    await store.stageLeaves("grown", 0, small.slice(0, 1));
    await store.stageLeaves("grown", 0, small.slice(0, 9));
    await store.stageLeaves("grown", 0, small.slice(0, 2));
    expect(await store.loadLeaves("grown", 0, 200)).toEqual(small.slice(0, 9));
    database.db.exec(`DROP TABLE staged_pack;
      CREATE TABLE staged_leaf (
        push_id TEXT NOT NULL, leaf INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (push_id, leaf));
      INSERT INTO staged_leaf VALUES ('before', 0, x'0102'), ('before', 1, x'03');
      UPDATE migration SET version = 1 WHERE name = 'record';`);
    const later = openSqliteRecordStore(database);
    expect(await later.loadLeaves("before", 0, 5)).toEqual([Uint8Array.of(1, 2), Uint8Array.of(3)]);
  });

  it("tell when a push was staged last, and spare what was staged since (R6)", async () => {
    await using database = SqliteDatabase.open(freshFile());
    let nowMs = 1_000;
    const store = openSqliteRecordStore(database, () => nowMs);
    const leaves = Array.from({ length: 1_500 }, (_, index) => Uint8Array.of(index % 256));
    await store.stageLeaves("a", 0, leaves);
    nowMs = 2_000;
    await store.stageLeaves("a", 0, leaves);
    // A clock that was set back makes nothing older.
    nowMs = 1_500;
    await store.putStagedDocument("a", "plan", "{}");
    expect((await store.stagedPushes(null, 5)).pushes).toEqual([{ push_id: "a", staged_at_ms: 2_000 }]);
    await store.dropStaged("a", 1_999);
    expect(await store.loadLeaves("a", 0, 2_000)).toEqual(leaves);
    nowMs = 3_000;
    // Not all of it fits into one transaction.
    const dropping = store.dropStaged("a", 2_000);
    await Promise.all([dropping, store.stageLeaves("a", 0, leaves)]);
    expect(await store.loadLeaves("a", 0, 2_000)).toEqual(leaves);
    expect((await store.stagedPushes(null, 5)).pushes).toEqual([{ push_id: "a", staged_at_ms: 3_000 }]);
    await store.dropStaged("a", 3_000);
    expect([await store.loadLeaves("a", 0, 5), (await store.stagedPushes(null, 5)).pushes]).toEqual([[], []]);
  });

  it("answer every read through an index, never by a scan or a sort", () => {
    const path = freshFile();
    const database = SqliteDatabase.open(path);
    const prepared: string[] = [];
    const prepare = database.prepare.bind(database);
    database.prepare = (sql) => {
      prepared.push(sql);
      return prepare(sql);
    };
    for (const open of [openSqliteRecordStore, openSqliteReceiptStore, openSqliteRegisterStore])
      open(database);
    openSqliteInsightStore(database);
    openSqliteEventStore(database);
    openSqliteImageStore(database, { bytesMax: 1 });
    const reads = prepared.filter((sql) => !sql.startsWith("INSERT"));
    expect(reads.length).toBeGreaterThan(12);
    for (const sql of reads) {
      const plan = database.db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
      const steps = plan.map((row) => String(row["detail"])).join("; ");
      expect(`${sql}: ${steps}`).not.toMatch(/\bSCAN\b|TEMP B-TREE/);
      for (const [, index] of sql.matchAll(/INDEXED BY (\w+)/g)) expect(steps).toContain(`${index} (`);
      if (sql.includes("INDEXED BY record_version_by_hash"))
        expect(steps).toContain("record_version_by_hash (record_no=? AND hash=?");
      if (sql.includes("ORDER BY key")) expect(steps).toContain("(tbl=? AND partition=?)");
    }
    database.close();
  });
});
