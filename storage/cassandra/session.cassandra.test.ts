import { describe, expect, it } from "vitest";
import { StoreError } from "../actor-store.ts";
import { hasCassandra, openTestKeyspace } from "./keyspace.fixture.ts";

const insert = "INSERT INTO t (id) VALUES (?)";
const idempotent = { idempotent: true } as const;

describe.skipIf(!hasCassandra)("C4: a session that is closed", () => {
  it("finishes what is under way, and refuses what comes later without having sent it", async () => {
    await using keyspace = await openTestKeyspace(["CREATE TABLE t (id int PRIMARY KEY)"]);
    const session = await keyspace.connect();
    const underWay = Array.from({ length: 200 }, (_, id) => session.execute(insert, [id], idempotent));
    const closing = session.close();
    const late = session.execute(insert, [1_000], idempotent);
    const lateBatch = session.batch([{ cql: insert, params: [1_000] }], idempotent);
    for (const each of [late, lateBatch]) {
      const failure = await each.then(
        () => null,
        (error: unknown) => error,
      );
      expect(failure).toBeInstanceOf(StoreError);
      expect(failure).toMatchObject({ effect: "not_applied", message: "Cassandra: the session is closed" });
    }
    expect(await Promise.allSettled(underWay)).toEqual(
      underWay.map(() => expect.objectContaining({ status: "fulfilled" })),
    );
    await closing;
    const reader = await keyspace.connect();
    const { rows } = await reader.execute("SELECT id FROM t", [], idempotent);
    expect(rows).toHaveLength(200);
    await reader.close();
  });
});
