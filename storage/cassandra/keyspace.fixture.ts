// A test's own keyspace on the engines that `SVC_TEST_CASSANDRA` names (addresses, comma-separated: one per data centre in
// the profile `regions`, otherwise all of one).

import { randomUUID } from "node:crypto";
import type { OpenClusterStore } from "../cluster-store.conformance.ts";
import { openCassandraClusterStore } from "./cluster-store.ts";
import { type CassandraSession, openCassandraSession } from "./session.ts";

const addresses = (process.env["SVC_TEST_CASSANDRA"] ?? "").split(",").filter((each) => each !== "");
const replication = Number(process.env["SVC_TEST_REPLICATION"] ?? "1");
const isRegions = process.env["SVC_TEST_PROFILE"] === "regions";

/** Whether there is an engine; without one these tests report that they were skipped. */
export const hasCassandra = addresses.length > 0;
/** Data centres of the available engines. */
export const testRegions: readonly string[] = isRegions ? ["eu-west1", "us-east1"] : ["eu-west1"];

/** Longer than a busy machine may take the processor away for. */
const patientMs = 60_000;

export interface TestKeyspace extends AsyncDisposable {
  readonly name: string;
  /** Opens a new connection each time, to the data centre of the region. */
  connect(region?: string): Promise<CassandraSession>;
}

/** Creates a keyspace with `tables`; disposing drops it. */
export async function openTestKeyspace(tables: readonly string[]): Promise<TestKeyspace> {
  const name = `test_${randomUUID().replaceAll("-", "").slice(0, 16)}`;
  const connect = (keyspace: string, region: string): Promise<CassandraSession> => {
    const address = addresses[testRegions.indexOf(region)] ?? "";
    return openCassandraSession({
      contactPoints: [address],
      localDc: region,
      keyspace,
      readTimeoutMs: patientMs,
    });
  };
  const home = testRegions[0] ?? "";
  const admin = await connect("", home);
  const copies = testRegions.map((region) => `'${region}': ${replication}`).join(", ");
  await admin.define(
    `CREATE KEYSPACE ${name} WITH replication = {'class': 'NetworkTopologyStrategy', ${copies}}`,
  );
  const drop = async (): Promise<void> => {
    await admin.define(`DROP KEYSPACE ${name}`);
    await admin.close();
  };
  try {
    const definer = await connect(name, home);
    for (const table of tables) await definer.define(table, { settle: table === tables.at(-1) });
    await definer.close();
  } catch (error) {
    await drop();
    throw error;
  }
  return { name, connect: (region = home) => connect(name, region), [Symbol.asyncDispose]: drop };
}

/** A store in a keyspace, as the conformance suites open it; a «lost» handle's connection stays open until the end. */
export interface OpenedStore<S> {
  readonly store: S;
  reopen(): Promise<OpenedStore<S>>;
  close(): Promise<void>;
}

export async function openStoreIn<S>(
  keyspace: TestKeyspace,
  make: (session: CassandraSession) => S,
): Promise<OpenedStore<S>> {
  const session = await keyspace.connect();
  return {
    store: make(session),
    reopen: async () => {
      const next = await openStoreIn(keyspace, make);
      const close = async (): Promise<void> => {
        await next.close();
        await session.close();
      };
      return { ...next, close };
    },
    close: () => session.close(),
  };
}

/** The most deleted rows that a read of the table has passed over on the node that answers. */
export async function mostPassedOver(session: CassandraSession, table: string): Promise<number> {
  const { rows } = await session.execute(
    "SELECT max FROM system_views.tombstones_per_read WHERE keyspace_name = ? AND table_name = ?",
    [session.keyspace, table],
    { idempotent: true },
  );
  return Number(rows[0]?.["max"]);
}

/** The cluster store of every region under test, as its conformance suites open it. */
export function openClusterStoreIn(keyspace: TestKeyspace): OpenClusterStore {
  const sessions: CassandraSession[] = [];
  return {
    regions: testRegions,
    handle: async (region) => {
      const session = await keyspace.connect(region);
      sessions.push(session);
      return openCassandraClusterStore(session);
    },
    close: async () => {
      for (const session of sessions) await session.close();
    },
  };
}
