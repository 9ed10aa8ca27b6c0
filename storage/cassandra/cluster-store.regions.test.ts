import { afterAll, beforeAll } from "vitest";
import { clusterRegionsConformance } from "../cluster-store.conformance.ts";
import { openClusterStoreIn, openTestKeyspace, type TestKeyspace } from "./keyspace.fixture.ts";
import { clusterTables } from "./migrations.ts";

let keyspace: TestKeyspace;
beforeAll(async () => {
  keyspace = await openTestKeyspace(clusterTables);
});
afterAll(async () => await keyspace?.[Symbol.asyncDispose]());

clusterRegionsConformance("the Cassandra store", async () => openClusterStoreIn(keyspace));
