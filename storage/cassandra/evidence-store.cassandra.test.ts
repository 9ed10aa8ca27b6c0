import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  conformanceBounds,
  evidenceOf,
  evidenceStoreConformance,
  type OpenEvidenceStore,
} from "../evidence-store.conformance.ts";
import { evidenceTables, openCassandraEvidenceStore } from "./evidence-store.ts";
import { hasCassandra, openTestKeyspace, type TestKeyspace } from "./keyspace.fixture.ts";

describe.skipIf(!hasCassandra)("with a Cassandra that SVC_TEST_CASSANDRA names", () => {
  let keyspace: TestKeyspace;
  beforeAll(async () => {
    keyspace = await openTestKeyspace(evidenceTables);
  });
  afterAll(async () => await keyspace?.[Symbol.asyncDispose]());
  const opening = { bounds: conformanceBounds, now: Date.now };

  evidenceStoreConformance("the Cassandra store", async () => {
    const session = await keyspace.connect();
    for (const table of ["evidence", "evidence_room", "evidence_bytes"])
      await session.execute(`TRUNCATE ${table}`, [], { idempotent: true });
    await session.close();
    const open = async (): Promise<OpenEvidenceStore> => {
      const own = await keyspace.connect();
      return { store: openCassandraEvidenceStore(own, opening), reopen: open, close: () => own.close() };
    };
    return open();
  });

  it("EC1, EC3: shows no half of a file, finds what a writer that died left, and has all of it expire", async () => {
    const session = await keyspace.connect();
    const store = openCassandraEvidenceStore(session, opening);
    const file = evidenceOf(600_000);
    await store.put(file);
    const { application, file: id } = file;
    const plain = { idempotent: true };
    const rows = async (columns: string, table: string) =>
      (await session.execute(`SELECT ${columns} FROM ${table}`, [], plain)).rows;
    for (const [column, table] of [
      ["size", "evidence"],
      ["counted", "evidence_room"],
      ["bytes", "evidence_bytes"],
    ] as const)
      for (const row of await rows(`TTL(${column}) AS ttl`, table))
        expect(row["ttl"]).toBeGreaterThan(129 * 86_400);
    await session.execute(
      "DELETE FROM evidence_bytes WHERE application = ? AND file = ? AND part = ?",
      [application, id, 1],
      plain,
    );
    await expect(store.read(file)).rejects.toMatchObject({ effect: "not_applied" });
    await store.forget({ application, file: null });
    for (const table of ["evidence", "evidence_room", "evidence_bytes"])
      expect(await rows("application", table)).toEqual([]);
    await session.close();
  });
});
