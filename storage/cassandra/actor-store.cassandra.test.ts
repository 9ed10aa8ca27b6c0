import { afterAll, beforeAll, describe } from "vitest";
import { actorStoreConformance } from "../actor-store.conformance.ts";
import { openCassandraActorStore } from "./actor-store.ts";
import { hasCassandra, openStoreIn, openTestKeyspace, type TestKeyspace } from "./keyspace.fixture.ts";
import { actorTables } from "./migrations.ts";

describe.skipIf(!hasCassandra)("with a Cassandra that SVC_TEST_CASSANDRA names", () => {
  let keyspace: TestKeyspace;
  beforeAll(async () => {
    keyspace = await openTestKeyspace(actorTables);
  });
  afterAll(async () => await keyspace?.[Symbol.asyncDispose]());

  actorStoreConformance("the Cassandra store", () =>
    openStoreIn(keyspace, (session) =>
      openCassandraActorStore(session, { region: session.localDc, now: () => Date.now() }),
    ),
  );
});
