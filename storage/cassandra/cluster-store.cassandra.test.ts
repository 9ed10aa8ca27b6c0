import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clusterStoreConformance } from "../cluster-store.conformance.ts";
import { openCassandraClusterStore } from "./cluster-store.ts";
import { hasCassandra, openClusterStoreIn, openTestKeyspace, type TestKeyspace } from "./keyspace.fixture.ts";
import { clusterTables } from "./migrations.ts";
import type { CassandraSession } from "./session.ts";

describe.skipIf(!hasCassandra)("with a Cassandra that SVC_TEST_CASSANDRA names", () => {
  let keyspace: TestKeyspace;
  beforeAll(async () => {
    keyspace = await openTestKeyspace(clusterTables);
  });
  afterAll(async () => await keyspace?.[Symbol.asyncDispose]());

  clusterStoreConformance("the Cassandra store", async () => openClusterStoreIn(keyspace));

  describe("the Cassandra store", () => {
    it("C3: refuses to write what is of another region", async () => {
      await using session = await open();
      const store = openCassandraClusterStore(session);
      await expect(async () =>
        store.casView({ region: "elsewhere", version: 1, members: [] }),
      ).rejects.toThrow("may not write data of elsewhere");
    });

    it("C8: says so when what is stored cannot be read", async () => {
      await using session = await open();
      const store = openCassandraClusterStore(session);
      const home = "INSERT INTO party_home (party, region, version) VALUES (?, ?, ?)";
      await session.execute(home, ["damaged", null, 3], { idempotent: true });
      await expect(store.readHomeNearby("damaged")).rejects.toMatchObject({ effect: "not_applied" });
      const view = "INSERT INTO region_view (region, version, members) VALUES (?, ?, ?)";
      for (const members of ["{", "{}", '[{"incarnation":"a"}]', "[7]"]) {
        await session.execute(view, ["damaged", 4, members], { idempotent: true });
        await expect(store.readView("damaged")).rejects.toMatchObject({ effect: "not_applied" });
      }
    });
  });

  async function open(): Promise<CassandraSession & AsyncDisposable> {
    const session = await keyspace.connect();
    return Object.assign(session, { [Symbol.asyncDispose]: () => session.close() });
  }
});
