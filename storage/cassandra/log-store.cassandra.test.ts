import { afterAll, beforeAll, describe } from "vitest";
import { logStoreConformance } from "../log-store.conformance.ts";
import { hasCassandra, openTestKeyspace, type TestKeyspace } from "./keyspace.fixture.ts";
import { logTables, openCassandraLogStore } from "./log-store.ts";

describe.skipIf(!hasCassandra)("with a Cassandra that SVC_TEST_CASSANDRA names", () => {
  let keyspace: TestKeyspace;
  beforeAll(async () => {
    keyspace = await openTestKeyspace(logTables);
  });
  afterAll(async () => await keyspace?.[Symbol.asyncDispose]());

  const open = async () => {
    const session = await keyspace.connect();
    return { store: openCassandraLogStore(session), reopen: open, close: () => session.close() };
  };

  logStoreConformance("Cassandra", async () => {
    const session = await keyspace.connect();
    for (const table of ["log_object", "log_leaf", "log_checkpoint"])
      await session.execute(`TRUNCATE ${table}`, [], { idempotent: true });
    await session.close();
    return open();
  });
});
