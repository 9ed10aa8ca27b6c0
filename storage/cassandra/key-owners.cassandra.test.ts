import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { StoreError } from "../actor-store.ts";
import { FaultySession } from "./faulty-session.fixture.ts";
import { hasCassandra, openTestKeyspace, type TestKeyspace } from "./keyspace.fixture.ts";
import { recordTables } from "./migrations.ts";
import { claimKey, openCassandraRegisterStore } from "./register-store.ts";

let counter = 0;
const freshKey = (): string => `key ${Date.now()} ${++counter}`;
const claim = "INSERT INTO key_owner";

describe.skipIf(!hasCassandra)("a claim of a key in Cassandra", () => {
  let keyspace: TestKeyspace;
  let session: FaultySession;
  beforeAll(async () => {
    keyspace = await openTestKeyspace(recordTables);
    session = new FaultySession(await keyspace.connect());
  });
  afterAll(async () => {
    await session?.close();
    await keyspace?.[Symbol.asyncDispose]();
  });

  it.each(["timeout_applied", "timeout_unapplied", "late"] as const)(
    "that meets «%s» is settled by reading, and made again while there is none (O3)",
    async (fault) => {
      const key = freshKey();
      session.failNext(claim, fault);
      expect(await claimKey(session, key, "a")).toBe("a");
      if (fault === "late") expect((await session.releaseLate()).applied).toBe(false);
      expect(await claimKey(session, key, "b")).toBe("a");
    },
  );

  it("tells both the same when one of two that claim at once is not heard of (O3)", async () => {
    for (const fault of ["timeout_applied", "timeout_unapplied", "late"] as const) {
      const key = freshKey();
      session.failNext(claim, fault);
      const [a, b] = await Promise.all(["a", "b"].map((party) => claimKey(session, key, party)));
      expect(a).toBe(b);
      if (fault === "late") expect((await session.releaseLate()).applied).toBe(false);
      expect(await claimKey(session, key, "c")).toBe(a);
    }
  });

  it("fails, and may be made again, when nothing is known after several tries", async () => {
    const key = freshKey();
    for (let times = 0; times < 3; times += 1) session.failNext(claim, "timeout_unapplied");
    const error = await claimKey(session, key, "a").catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StoreError);
    expect(error).toMatchObject({ effect: "unknown" });
    expect(await claimKey(session, key, "b")).toBe("b");
  });

  it("asks no other region for a key that has its owner (O2)", async () => {
    const key = freshKey();
    await claimKey(session, key, "a");
    const before = session.sent.length;
    expect(await claimKey(session, key, "b")).toBe("a");
    expect(session.sent.slice(before)).toEqual([expect.stringContaining("SELECT party FROM key_owner")]);
  });

  it("gives a key whose claim was lost to the party that the register names, with one region away too (O4)", async () => {
    const [one, two] = [freshKey(), freshKey()];
    const store = openCassandraRegisterStore(session);
    await store.put(
      [one, two].map((key) => ({ table: "key", partition: "old", key, change: 1, body: "{}" })),
    );
    expect(await claimKey(session, one, "a")).toBe("old");
    session.failNext("FROM register_entry", "refused");
    expect(await claimKey(session, two, "a")).toBe("old");
  });
});
