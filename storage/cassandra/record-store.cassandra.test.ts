import { afterAll, beforeAll, describe } from "vitest";
import { recordStoreConformance } from "../record-store.conformance.ts";
import { hasCassandra, openStoreIn, openTestKeyspace, type TestKeyspace } from "./keyspace.fixture.ts";
import { openCassandraRecordStore } from "./record-store.ts";
import { recordTables } from "./record-tables.ts";

describe.skipIf(!hasCassandra)("with a Cassandra that SVC_TEST_CASSANDRA names", () => {
  let keyspace: TestKeyspace;
  beforeAll(async () => {
    keyspace = await openTestKeyspace(recordTables);
  });
  afterAll(async () => await keyspace?.[Symbol.asyncDispose]());

  recordStoreConformance("the Cassandra store", () => openStoreIn(keyspace, openCassandraRecordStore));
});
