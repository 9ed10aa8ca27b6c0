import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { eventTables } from "./event-store.ts";
import { evidenceTables } from "./evidence-store.ts";
import { fenceTables } from "./fence-ledger.ts";
import { imageTables } from "./image-store.ts";
import { insightTables } from "./insight-store.ts";
import { hasCassandra, openTestKeyspace, type TestKeyspace, testRegions } from "./keyspace.fixture.ts";
import { ensureKeyspace, readReplication, takeOutRegion } from "./keyspaces.ts";
import { listTables } from "./list-store.ts";
import { logTables } from "./log-store.ts";
import {
  actorTables,
  clusterTables,
  type Migrations,
  migrate,
  migrations,
  readSchemaVersion,
  recordTables,
  SchemaTooNew,
} from "./migrations.ts";
import { receiptListingTables } from "./receipt-listing.ts";
import { type CassandraSession, openCassandraSession } from "./session.ts";
import { stagingTables } from "./staging-area.ts";

const first = ["CREATE TABLE IF NOT EXISTS one (id text PRIMARY KEY)"];
const second = [
  "CREATE TABLE IF NOT EXISTS two (id text PRIMARY KEY)",
  "ALTER TABLE one ADD IF NOT EXISTS more int",
];

describe.skipIf(!hasCassandra)("with a Cassandra that SVC_TEST_CASSANDRA names", () => {
  describe("the schema of a keyspace", () => {
    let keyspace: TestKeyspace;
    const sessions: CassandraSession[] = [];
    const connect = async (): Promise<CassandraSession> => {
      const session = await keyspace.connect();
      sessions.push(session);
      return session;
    };
    beforeEach(async () => {
      keyspace = await openTestKeyspace([]);
      return async () => {
        for (const session of sessions.splice(0)) await session.close();
        await keyspace[Symbol.asyncDispose]();
      };
    });

    it("S1, S2: many nodes that start at once define it once", async () => {
      const nodes = await Promise.all(Array.from({ length: 5 }, connect));
      const defined: string[] = [];
      const watched = nodes.map((node) => watch(node, (cql) => defined.push(cql)));
      expect(await Promise.all(watched.map((node) => migrate(node, [first, second])))).toEqual([
        2, 2, 2, 2, 2,
      ]);
      expect(defined.filter((cql) => !cql.includes("schema_state"))).toEqual([...first, ...second]);
      expect(await readSchemaVersion(await connect())).toBe(2);
    });

    it("S1: a later release goes on from where an earlier one had left it", async () => {
      const session = await connect();
      expect(await migrate(session, [first])).toBe(1);
      await session.execute("INSERT INTO one (id) VALUES (?)", ["kept"], { idempotent: true });
      expect(await migrate(session, [["this is not run again"], second])).toBe(2);
      const { rows } = await session.execute("SELECT id, more FROM one", [], { idempotent: true });
      expect(rows).toEqual([{ id: "kept", more: null }]);
    });

    it("S2: what a node left half done is done again, once its lock has ended", async () => {
      const session = await connect();
      const torn: Migrations = [[...first, "CREATE TABLE broken"]];
      await expect(migrate(session, torn)).rejects.toThrow("Cassandra");
      expect(await readSchemaVersion(session)).toBe(0);
      // The lock of a node that was killed: nobody releases it.
      const lock = "INSERT INTO schema_state (part, holder) VALUES ('lock', ?) IF NOT EXISTS USING TTL 2";
      await session.execute(lock, [randomUUID()], { serial: "SERIAL", idempotent: false });
      const defined: string[] = [];
      const late = watch(session, (cql) => defined.push(cql));
      expect(await migrate(late, [first])).toBe(1);
      expect(defined.filter((cql) => cql.includes("one"))).toEqual(first);
    });

    it("S2: a node that lost its lock defines nothing more", async () => {
      const session = await connect();
      await migrate(session, []);
      const defined: string[] = [];
      const robbed = watch(session, async (cql) => {
        defined.push(cql);
        if (!cql.includes("TABLE IF NOT EXISTS one")) return;
        // Another node got it, as if this one had been paused: the version is for that node to record.
        const take = "UPDATE schema_state USING TTL 1 SET holder = ? WHERE part = 'lock' IF EXISTS";
        await session.execute(take, ["other"], { serial: "SERIAL", idempotent: false });
        const note = "INSERT INTO schema_state (part, version) VALUES ('schema', 1) IF NOT EXISTS";
        await session.execute(note, [], { serial: "SERIAL", idempotent: false });
      });
      expect(await migrate(robbed, [[...first, ...second]])).toBe(1);
      expect(defined.filter((cql) => second.includes(cql))).toEqual([]);
    });

    it("S3: a keyspace of a newer version is refused and left as it is", async () => {
      const session = await connect();
      await migrate(session, [first, second]);
      const refusal = await migrate(session, [first]).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(SchemaTooNew);
      expect(refusal).toMatchObject({ stored: 2, known: 1 });
      expect(await readSchemaVersion(session)).toBe(2);
    });

    it("has all tables of this release", async () => {
      const session = await connect();
      expect(await migrate(session)).toBe(migrations.length);
      const { rows } = await session.execute(
        "SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?",
        [keyspace.name],
        { idempotent: true },
      );
      const names = rows.map((row) => row["table_name"]);
      const expected = [
        ...actorTables,
        ...clusterTables,
        ...recordTables,
        ...fenceTables,
        ...insightTables,
        ...eventTables,
        ...stagingTables,
        ...logTables,
        ...imageTables,
        ...evidenceTables,
        ...listTables,
        ...receiptListingTables,
      ].map((cql) => cql.split(/[\s(]+/)[5]);
      expect(expected.length).toBeGreaterThan(10);
      expect(names.sort()).toEqual(["schema_state", ...expected].sort());
    });
  });

  describe("a keyspace", () => {
    const name = `test_${randomUUID().replaceAll("-", "").slice(0, 16)}`;
    const localDc = testRegions[0] ?? "";
    const address = (process.env["SVC_TEST_CASSANDRA"] ?? "").split(",")[0] ?? "";
    const connection = { contactPoints: [address], localDc };
    let session: CassandraSession;
    beforeAll(async () => {
      session = await openCassandraSession({ ...connection, keyspace: "" });
    });
    afterAll(async () => {
      await session?.define(`DROP KEYSPACE IF EXISTS ${name}`);
      await session?.close();
    });

    it("is created by all who start at once, and then stays as it is", async () => {
      const asked = { [localDc]: 1 };
      const all = await Promise.all([1, 2, 3].map(() => ensureKeyspace(connection, name, asked)));
      expect(all).toEqual([asked, asked, asked]);
      expect(await ensureKeyspace(connection, name, { [localDc]: 3 })).toEqual(asked);
    });

    it("is refused when it has no copy here, and its last region stays", async () => {
      await expect(
        ensureKeyspace({ ...connection, localDc: "elsewhere" }, name, { [localDc]: 1 }),
      ).rejects.toMatchObject({ effect: "not_applied" });
      const inside = await openCassandraSession({ ...connection, keyspace: name });
      await expect(takeOutRegion(inside, localDc)).rejects.toThrow("the only region");
      await takeOutRegion(inside, "elsewhere");
      await inside.close();
      expect(await readReplication(session, name)).toEqual({ [localDc]: 1 });
    });
  });
});

/** The session, reporting each statement that it defines before doing so. */
function watch(session: CassandraSession, defining: (cql: string) => unknown): CassandraSession {
  return {
    keyspace: session.keyspace,
    localDc: session.localDc,
    execute: (cql, params, options) => session.execute(cql, params, options),
    batch: (statements, options) => session.batch(statements, options),
    define: async (cql, options) => {
      await defining(cql);
      await session.define(cql, options);
    },
    close: () => session.close(),
  };
}
