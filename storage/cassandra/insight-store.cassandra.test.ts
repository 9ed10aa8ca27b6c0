import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { insightStoreConformance } from "../insight-store.conformance.ts";
import { insightTables, openCassandraInsightStore } from "./insight-store.ts";
import { hasCassandra, openTestKeyspace, type TestKeyspace } from "./keyspace.fixture.ts";
import type { CassandraSession } from "./session.ts";

const dayMs = 86_400_000;

describe.skipIf(!hasCassandra)("with a Cassandra that SVC_TEST_CASSANDRA names", () => {
  let keyspace: TestKeyspace;
  beforeAll(async () => {
    keyspace = await openTestKeyspace(insightTables);
  });
  afterAll(async () => await keyspace?.[Symbol.asyncDispose]());

  const open = async () => {
    const session = await keyspace.connect();
    return {
      store: openCassandraInsightStore(session, { retentionDays: 400 }),
      reopen: open,
      close: () => session.close(),
    };
  };

  insightStoreConformance(
    "the Cassandra store",
    async () => {
      const opened = await open();
      const session: CassandraSession = await keyspace.connect();
      for (const table of ["insight_shown", "insight_demand"])
        await session.execute(`TRUNCATE ${table}`, [], { idempotent: true });
      await session.close();
      return opened;
    },
    true,
  );

  it("N2: keeps a day's counts as long as its retention says, and none of a day beyond it", async () => {
    const session = await keyspace.connect();
    const day = "2026-03-04";
    const name = "00000000-0000-4000-8000-0000000000ee";
    const count = { name, day, country: "US", collection: "products", company: "c", writer: "w" } as const;
    const put = (hoursAfter: number) =>
      openCassandraInsightStore(session, {
        retentionDays: 2,
        now: () => Date.parse(day) + hoursAfter * 3_600_000,
      }).put("shown", [{ ...count, country: `at ${hoursAfter}`, searches: 1, rows: 1, fetches: 0 }]);
    for (const hours of [0, 71, 72, 100]) await put(hours);
    const { rows } = await session.execute(
      "SELECT country, ttl(searches) AS left FROM insight_shown WHERE name = ? AND day = ?",
      [name, day],
      { idempotent: true },
    );
    const left = new Map(rows.map((row) => [row["country"], Number(row["left"])]));
    expect([...left.keys()].sort()).toEqual(["at 0", "at 71"]);
    expect(left.get("at 0")).toBeGreaterThan((3 * dayMs) / 1_000 - 600);
    expect(left.get("at 71")).toBeLessThanOrEqual(3_600);
    await session.close();
  });
});
