import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { recordStoreConformance } from "../record-store.conformance.ts";
import { bytes, fresh, hash, head, seal, stagedIn, version } from "../record-store.fixture.ts";
import type { RecordStore } from "../record-store.ts";
import { hasCassandra, openStoreIn, openTestKeyspace, type TestKeyspace } from "./keyspace.fixture.ts";
import { recordTables } from "./migrations.ts";
import { openCassandraRecordStore } from "./record-store.ts";
import type { CassandraSession } from "./session.ts";

/** Far more than clocks differ by, and less than what makes a slot of the list be over. */
const skewMs = 60_000;

describe.skipIf(!hasCassandra)("with a Cassandra that SVC_TEST_CASSANDRA names", () => {
  let keyspace: TestKeyspace;
  beforeAll(async () => {
    keyspace = await openTestKeyspace(recordTables);
  });
  afterAll(async () => await keyspace?.[Symbol.asyncDispose]());

  recordStoreConformance("the Cassandra store", () => openStoreIn(keyspace, openCassandraRecordStore));
  describe("the Cassandra store of records", () => clockTests(() => keyspace));
  describe("the Cassandra store of records sends", () => statementTests(() => keyspace));
});

function clockTests(keyspace: () => TestKeyspace): void {
  let session: CassandraSession;
  /** Stores of nodes whose clocks are a minute behind and ahead. */
  let behind: RecordStore;
  let ahead: RecordStore;
  beforeEach(async () => {
    session = await keyspace().connect();
    behind = openCassandraRecordStore(session, { now: () => Date.now() - skewMs });
    ahead = openCassandraRecordStore(session, { now: () => Date.now() + skewMs });
  });
  afterEach(() => session.close());

  it("orders heads by their change, whatever the clocks of their writers say (W1)", async () => {
    const [a, b] = [fresh("svc"), fresh("svc")];
    await behind.putHeads([head(a, { change: 5 })]);
    await ahead.putHeads([head(a, { change: 4, live: false })]);
    await ahead.putHeads([head(b, { change: 0 })]);
    await behind.putHeads([head(b, { change: 1, live: false })]);
    expect(await behind.readHead(a)).toEqual(head(a, { change: 5 }));
    expect(await ahead.readHead(b)).toEqual(head(b, { change: 1, live: false }));
  });

  it("keeps the first of what never changes when a node redoes it later, even with other contents (W2)", async () => {
    const [id, sealId] = [fresh("svc"), fresh("bat")];
    await behind.putSeal(seal(sealId));
    await behind.putVersions([version(id, sealId)], [head(id)]);
    await ahead.putSeal(seal(sealId, { envelope: "{}" }));
    await ahead.putVersions([version(id, sealId, { row: "~", sidecar: "{}", leaf_index: 9 })], [head(id)]);
    const other = openCassandraRecordStore(session);
    const expected = { head: head(id), version: version(id, sealId), seal: seal(sealId) };
    expect(await other.readServed(id)).toEqual(expected);
  });

  it("drops what was staged by a clock ahead, and spares what is staged later (P2)", async () => {
    const [a, b] = [fresh("bat"), fresh("bat")];
    const store = openCassandraRecordStore(session);
    await ahead.stageLeaves(a, 0, [bytes(1), bytes(2)]);
    await ahead.putStagedDocument(a, "plan", "{}");
    await behind.dropStaged(a);
    expect([await store.loadLeaves(a, 0, 5), await store.readStagedDocument(a, "plan")]).toEqual([[], null]);
    await behind.stageLeaves(b, 0, [bytes(1), bytes(2)]);
    await ahead.dropStaged(b);
    await store.stageLeaves(b, 0, [bytes(3)]);
    expect(await store.loadLeaves(b, 0, 5)).toEqual([bytes(3)]);
    expect((await stagedIn(store, 100)).map(({ push_id }) => push_id)).toContain(b);
  });

  it("tells when a push was staged last, and spares what was staged since (R6)", async () => {
    const push = fresh("bat");
    const store = openCassandraRecordStore(session);
    const stagedAt = async (): Promise<number> => {
      const found = (await stagedIn(store, 100)).filter(({ push_id }) => push_id === push);
      return Math.max(...found.map(({ staged_at_ms }) => staged_at_ms));
    };
    await behind.stageLeaves(push, 0, [bytes(1), bytes(2)]);
    const early = await stagedAt();
    await store.stageLeaves(push, 1, [bytes(2)]);
    const late = await stagedAt();
    expect(late - early).toBeGreaterThan(skewMs / 2);
    // A clock that is behind makes nothing older.
    await behind.putStagedDocument(push, "plan", "{}");
    expect(await stagedAt()).toBe(late);
    await store.dropStaged(push, early);
    expect(await store.loadLeaves(push, 0, 5)).toEqual([bytes(1), bytes(2)]);
    await store.dropStaged(push, late);
    expect([await store.loadLeaves(push, 0, 5), await store.readStagedDocument(push, "plan")]).toEqual([
      [],
      null,
    ]);
  });

  it("spares what is staged while it is dropped (P2, R6)", async () => {
    const push = fresh("bat");
    await behind.stageLeaves(push, 0, [bytes(1), bytes(2)]);
    const store = openCassandraRecordStore(session);
    const meeting = openCassandraRecordStore({
      ...session,
      // After the list was read, and before anything is deleted.
      execute: async (cql, params, options) => {
        const result = await session.execute(cql, params, options);
        if (cql.includes("FROM staged_of_push")) await store.stageLeaves(push, 0, [bytes(1), bytes(2)]);
        return result;
      },
    });
    await meeting.dropStaged(push, Date.now() - skewMs / 2);
    expect(await store.loadLeaves(push, 0, 5)).toEqual([bytes(1), bytes(2)]);
    expect((await stagedIn(store, 100)).map(({ push_id }) => push_id)).toContain(push);
  });

  it("refuses what is no change number, before anything is written", async () => {
    const id = fresh("svc");
    const store = openCassandraRecordStore(session);
    for (const change of [-1, 1.5, Number.MAX_SAFE_INTEGER + 1]) {
      await expect(store.putHeads([head(id, { change })])).rejects.toThrow(RangeError);
    }
    expect(await store.readHead(id)).toBeNull();
  });

  it("refuses a cursor that is none of its own", async () => {
    const store = openCassandraRecordStore(session);
    for (const cursor of ["", "after:x", "a b c", "uuid 3"]) {
      await expect(store.listHeads(cursor, 1)).rejects.toThrow(RangeError);
      await expect(store.listCatalogue("uuid", cursor, 1)).rejects.toThrow(RangeError);
    }
    await expect(store.listCatalogue("uuid", "other 3 svc_a", 1)).rejects.toThrow(RangeError);
  });
}

function statementTests(keyspace: () => TestKeyspace): void {
  /** A store that counts what it sends, and how much of it concurrently. */
  const open = async () => {
    const session = await keyspace().connect();
    const sent = { reads: 0, writes: 0, atOnce: 0, mostAtOnce: 0 };
    const counted = async <T>(kind: "reads" | "writes", run: () => Promise<T>): Promise<T> => {
      sent[kind] += 1;
      sent.atOnce += 1;
      sent.mostAtOnce = Math.max(sent.mostAtOnce, sent.atOnce);
      try {
        return await run();
      } finally {
        sent.atOnce -= 1;
      }
    };
    const store = openCassandraRecordStore({
      ...session,
      execute: (cql, params, options) =>
        counted(cql.startsWith("SELECT") ? "reads" : "writes", () => session.execute(cql, params, options)),
      batch: (statements, options) => counted("writes", () => session.batch(statements, options)),
    });
    return { session, store, sent };
  };

  it("one write for each version with its head, and few at once (V1, V3)", async () => {
    const { session, store, sent } = await open();
    const sealId = fresh("bat");
    const ids = Array.from({ length: 600 }, () => fresh("svc"));
    await store.putVersions(
      ids.map((id) => version(id, sealId)),
      ids.map((id) => head(id)),
    );
    // The catalogue has 16 partitions per business, each of which takes one write of about 38 heads.
    expect(sent.writes).toBe(600 + 16);
    expect(sent.mostAtOnce).toBeLessThanOrEqual(128);
    await session.close();
  });

  it("one read for a fetch once its seal is known, two when the head is not at the newest version (V2)", async () => {
    const { session, store, sent } = await open();
    const [id, sealId] = [fresh("svc"), fresh("bat")];
    await store.putSeal(seal(sealId));
    await store.putVersions([version(id, sealId)], [head(id)]);
    const readsOf = async (): Promise<number> => {
      sent.reads = 0;
      expect(await store.readServed(id)).not.toBeNull();
      return sent.reads;
    };
    expect([await readsOf(), await readsOf()]).toEqual([2, 1]);
    await store.putVersions([version(id, sealId, { generation: 2, hash: hash("2") })], []);
    expect(await readsOf()).toBe(2);
    await store.putHeads([head(id, { change: 2, generation: 2, hash: hash("2") })]);
    expect(await readsOf()).toBe(1);
    await session.close();
  });

  it("every put to all regions before it answers, if that is asked for, and nothing else (V4)", async () => {
    const session = await keyspace().connect();
    const levels = new Map<string, Set<string | undefined>>();
    const note = (cql: string, level: string | undefined): void => {
      const [verb = ""] = cql.includes("SET dropped") ? ["DELETE"] : cql.split(" ");
      levels.set(verb, (levels.get(verb) ?? new Set()).add(level));
    };
    const store = openCassandraRecordStore(
      {
        ...session,
        execute: (cql, params, options) => {
          note(cql, options.consistency);
          return session.execute(cql, params, options);
        },
        batch: (statements, options) => {
          for (const { cql } of statements) note(cql, options.consistency);
          return session.batch(statements, options);
        },
      },
      { replicateBeforeAck: true },
    );
    const [id, sealId] = [fresh("svc"), fresh("bat")];
    await store.stageLeaves(sealId, 0, [bytes(1)]);
    await store.putStagedDocument(sealId, "plan", "{}");
    await store.putSeal(seal(sealId));
    await store.putVersions([version(id, sealId)], [head(id)]);
    expect(await store.readServed(id)).not.toBeNull();
    await store.dropStaged(sealId);
    const everywhere = new Set<string | undefined>(["EACH_QUORUM"]);
    const own = new Set<string | undefined>([undefined]);
    expect(levels).toEqual(
      new Map([
        ["INSERT", everywhere],
        ["UPDATE", everywhere],
        ["SELECT", own],
        ["DELETE", own],
      ]),
    );
    await session.close();
  });

  it("a few writes for many leaves", async () => {
    const { session, store, sent } = await open();
    await store.stageLeaves(
      fresh("bat"),
      0,
      Array.from({ length: 1_000 }, () => new Uint8Array(1_500)),
    );
    expect(sent.writes).toBe(2 + 10);
    await session.close();
  });

  it("nothing more once a write failed, and says so", async () => {
    const { session, sent } = await open();
    const store = openCassandraRecordStore({
      ...session,
      execute: () => {
        sent.writes += 1;
        return Promise.reject(new Error("down"));
      },
      batch: () => Promise.reject(new Error("down")),
    });
    await expect(store.putHeads(Array.from({ length: 1_000 }, () => head(fresh("svc"))))).rejects.toThrow(
      "down",
    );
    expect(sent.writes).toBeLessThanOrEqual(128);
    await session.close();
  });
}
