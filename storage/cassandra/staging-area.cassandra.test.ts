import { afterAll, beforeAll, describe } from "vitest";
import { stagingAreaConformance } from "../staging-area.conformance.ts";
import { hasCassandra, openTestKeyspace, type TestKeyspace } from "./keyspace.fixture.ts";
import type { CassandraSession } from "./session.ts";
import { openCassandraStagingArea, stagingTables } from "./staging-area.ts";

describe.skipIf(!hasCassandra)("with a Cassandra that SVC_TEST_CASSANDRA names", () => {
  let keyspace: TestKeyspace;
  beforeAll(async () => {
    keyspace = await openTestKeyspace(stagingTables);
  });
  afterAll(async () => await keyspace?.[Symbol.asyncDispose]());

  stagingAreaConformance("the Cassandra store", async () => {
    const sessions: CassandraSession[] = [];
    const handle = async () => {
      const session = await keyspace.connect();
      sessions.push(session);
      return openCassandraStagingArea(session);
    };
    return {
      area: await handle(),
      handle,
      close: async () => {
        for (const session of sessions) await session.close();
      },
    };
  });
});
