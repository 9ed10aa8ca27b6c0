import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTestKeyspace, type TestKeyspace, testRegions } from "./keyspace.fixture.ts";
import { recordTables } from "./migrations.ts";
import { openCassandraRegisterStore } from "./register-store.ts";
import type { CassandraSession } from "./session.ts";

let keyspace: TestKeyspace;
let sessions: readonly CassandraSession[];
beforeAll(async () => {
  keyspace = await openTestKeyspace(recordTables);
  sessions = await Promise.all(testRegions.map((region) => keyspace.connect(region)));
});
afterAll(async () => {
  for (const session of sessions ?? []) await session.close();
  await keyspace?.[Symbol.asyncDispose]();
});

describe("a key that parties claim in different regions at once (G5)", () => {
  it("belongs to one of them, and every region says the same", async () => {
    expect(sessions.length).toBe(2);
    const stores = sessions.map((session) => openCassandraRegisterStore(session));
    for (let round = 0; round < 10; round += 1) {
      const key = `key ${Date.now()} ${round}`;
      const parties = stores.map((_, index) => `party ${index}`);
      const claimed = await Promise.all(
        stores.map((store, index) => store.claimKey(key, parties[index] ?? "")),
      );
      expect(new Set(claimed).size).toBe(1);
      expect(parties).toContain(claimed[0]);
      for (const store of stores) expect(await store.claimKey(key, "party 9")).toBe(claimed[0]);
    }
  });
});
