import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventStoreConformance, type OpenEventStore } from "../event-store.conformance.ts";
import { eventTables, openCassandraEventStore } from "./event-store.ts";
import { hasCassandra, openTestKeyspace, type TestKeyspace } from "./keyspace.fixture.ts";
import type { CassandraSession } from "./session.ts";

describe.skipIf(!hasCassandra)("with a Cassandra that SVC_TEST_CASSANDRA names", () => {
  let keyspace: TestKeyspace;
  beforeAll(async () => {
    keyspace = await openTestKeyspace(eventTables);
  });
  afterAll(async () => await keyspace?.[Symbol.asyncDispose]());

  eventStoreConformance(
    "the Cassandra store",
    async () => {
      let passedMs = 0;
      const open = async (): Promise<OpenEventStore> => {
        const session = await keyspace.connect();
        return {
          store: openCassandraEventStore(session, () => Date.now() + passedMs),
          reopen: open,
          close: () => session.close(),
          pass: (ms) => {
            passedMs += ms;
          },
        };
      };
      return open();
    },
    true,
  );

  it("V1: writes again, at a later position, what took long to be written", async () => {
    const session = await keyspace.connect();
    let slowMs = 0;
    const batch: CassandraSession["batch"] = async (...args) => {
      const done = await session.batch(...args);
      slowMs += slowMs === 0 ? 20_000 : 0;
      return done;
    };
    const slow = { ...session, batch, execute: session.execute.bind(session) };
    const startMs = Date.now();
    const store = openCassandraEventStore(slow, () => Date.now() + slowMs);
    await store.put("r-slow", [{ company: "c", retrieval_id: "ret_1", body: "{}" }]);
    slowMs += 60_000;
    const events = await store.read({ region: "r-slow", company: "c", after: null, limit: 10 });
    expect(events.map(({ position }) => position.at >= startMs + 20_000)).toEqual([false, true]);
    await session.close();
  });
});
