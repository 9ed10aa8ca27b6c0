import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fenceLedgerConformance } from "../fence-ledger.conformance.ts";
import { fenceTables, openCassandraFenceLedger } from "./fence-ledger.ts";
import { hasCassandra, openTestKeyspace, type TestKeyspace, testRegions } from "./keyspace.fixture.ts";
import type { CassandraSession } from "./session.ts";

describe.skipIf(!hasCassandra)("with a Cassandra that SVC_TEST_CASSANDRA names", () => {
  let keyspace: TestKeyspace;
  const region = testRegions[0] ?? "";
  beforeAll(async () => {
    keyspace = await openTestKeyspace(fenceTables);
  });
  afterAll(async () => await keyspace?.[Symbol.asyncDispose]());

  fenceLedgerConformance("the Cassandra store", async () => {
    const sessions: CassandraSession[] = [];
    const connect = async (): Promise<CassandraSession> => {
      const session = await keyspace.connect();
      sessions.push(session);
      return session;
    };
    await (await connect()).execute("TRUNCATE fence_refusal", [], { idempotent: true });
    return {
      region,
      handle: async () => openCassandraFenceLedger(await connect(), testRegions),
      close: async () => {
        for (const session of sessions) await session.close();
      },
    };
  });

  it("L4: refuses to write what is of another region", async () => {
    const session = await keyspace.connect();
    const ledger = openCassandraFenceLedger(session, [region, "elsewhere"]);
    const refusals = { region: "elsewhere", incarnation: "a", refusals: 1, last_at_ms: 1 };
    await expect(ledger.note(refusals)).rejects.toThrow("may not write data of elsewhere");
    await session.close();
  });
});
