import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listStoreConformance, type OpenListStore, versionOf } from "../list-store.conformance.ts";
import { hasCassandra, openTestKeyspace, type TestKeyspace } from "./keyspace.fixture.ts";
import { listTables, openCassandraListStore } from "./list-store.ts";
import type { CassandraSession } from "./session.ts";

describe.skipIf(!hasCassandra)("with a Cassandra that SVC_TEST_CASSANDRA names", () => {
  let keyspace: TestKeyspace;
  beforeAll(async () => {
    keyspace = await openTestKeyspace(listTables);
  });
  afterAll(async () => await keyspace?.[Symbol.asyncDispose]());
  const plain = { idempotent: true };

  listStoreConformance("the Cassandra store", async () => {
    let passedMs = 0;
    const now = () => Date.now() + passedMs;
    const open = async (): Promise<OpenListStore> => {
      const session = await keyspace.connect();
      return {
        store: openCassandraListStore(session, { now }),
        reopen: open,
        close: () => session.close(),
        files: async (list) => {
          const named = await session.execute(
            "SELECT file FROM operator_list_file WHERE list = ?",
            [list],
            plain,
          );
          const written = await session.execute(
            "SELECT DISTINCT list, file FROM operator_list_bytes",
            [],
            plain,
          );
          const own = written.rows.filter((row) => row["list"] === list);
          return new Set([...named.rows, ...own].map((row) => row["file"])).size;
        },
        pass: (ms) => {
          passedMs += ms;
        },
      };
    };
    return open();
  });

  it("OL2: does not show half of a version whose bytes are on their way here", async () => {
    const session = await keyspace.connect();
    const store = openCassandraListStore(session, { now: Date.now });
    const version = versionOf("as-table", 1, 600_000);
    await store.set(version, new Uint8Array(600_000), null);
    const half = "DELETE FROM operator_list_bytes WHERE list = ? AND file = ? AND part = 1";
    await session.execute(half, [version.list, version.file], plain);
    await expect(store.read(version)).rejects.toMatchObject({ effect: "not_applied" });
    await session.close();
  });

  it("is in every region before it is answered, where that is wanted", async () => {
    const session = await keyspace.connect();
    const levels = new Set<string>();
    const execute: CassandraSession["execute"] = (cql, params, options) => {
      if (!cql.startsWith("SELECT")) levels.add(options.consistency ?? "LOCAL_QUORUM");
      return session.execute(cql, params, options);
    };
    const options = { now: Date.now, replicateBeforeAck: true };
    const store = openCassandraListStore({ ...session, execute }, options);
    expect(await store.set(versionOf("terms", 1, 10), new Uint8Array(10), null)).toBe(true);
    expect([...levels]).toEqual(["EACH_QUORUM"]);
    await session.close();
  });
});
