import { expect, it } from "vitest";
import { hashed } from "../receipt-batch.fixture.ts";
import { openCassandraReceiptStore } from "./receipt-store.ts";
import type { CassandraSession } from "./session.ts";

const servedAtMs = Date.parse("2026-03-04T05:06:07.123Z");
const row = hashed({
  region: "eu-west1",
  batch: "202603040506-i1",
  company: "c",
  key_id: "k",
  nonce: "n",
  retrieval_id: `ret_${servedAtMs.toString(16).padStart(12, "0")}${"0".repeat(20)}`,
  billable: true,
  served_at_ms: servedAtMs,
  envelope: "{}",
  event: "{}",
});

it.each([
  [0, true],
  [2_500, true],
  [2_501, false],
  [60_000, false],
])("B5: a receipt is taken back only where the read before it is recent: %d ms", async (tookMs, isTaken) => {
  let nowMs = servedAtMs;
  const changes: string[] = [];
  const session: CassandraSession = {
    keyspace: "test",
    localDc: "eu-west1",
    execute: async (cql) => {
      if (cql.startsWith("SELECT")) nowMs += tookMs;
      else changes.push(cql);
      return { rows: [], pageState: null, applied: true };
    },
    batch: () => Promise.reject(new Error("nobody sends a batch here")),
    define: () => Promise.reject(new Error("nobody defines anything here")),
    close: async () => {},
  };
  const store = openCassandraReceiptStore(session, { now: () => nowMs });
  expect(await store.retract(row)).toBe(isTaken);
  expect(changes.some((cql) => cql.startsWith("DELETE FROM receipt "))).toBe(isTaken);
  if (!isTaken) expect(changes).toEqual([]);
});
