// Whether the Cassandra nodes of a profile reach each other: answering CQL alone does not prove it.

import { setTimeout as wait } from "node:timers/promises";
import { types } from "cassandra-driver";
import { type CassandraPlan, createCqlClient } from "./cassandra.ts";

type Place = Pick<CassandraPlan, "address" | "dataCenter">;

const keyspace = "svc_engines";
const meshMaxMs = 300_000;
const pollMs = 250;

/** Resolves once every node of `nodes`, as coordinator, has read rows that all of them hold. */
export async function untilMeshed(nodes: readonly Place[]): Promise<void> {
  const lastMs = performance.now() + meshMaxMs;
  const [first] = nodes;
  if (first === undefined) return;
  const retry = async (work: () => Promise<void>): Promise<void> => {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (performance.now() > lastMs) throw error;
        await wait(pollMs);
      }
    }
  };
  await retry(() => prepare(first, nodes));
  for (const node of nodes) await retry(() => readFromAll(node));
}

async function prepare(node: Place, nodes: readonly Place[]): Promise<void> {
  const copies = new Map<string, number>();
  for (const { dataCenter } of nodes) copies.set(dataCenter, (copies.get(dataCenter) ?? 0) + 1);
  const places = [...copies].map(([dataCenter, count]) => `'${dataCenter}': ${count}`).join(", ");
  const replication = `{'class': 'NetworkTopologyStrategy', ${places}}`;
  await asCoordinator(node, async (run) => {
    await run(`CREATE KEYSPACE IF NOT EXISTS ${keyspace} WITH replication = ${replication}`);
    await run(`ALTER KEYSPACE ${keyspace} WITH replication = ${replication}`);
    await run(`CREATE TABLE IF NOT EXISTS ${keyspace}.mesh (id int PRIMARY KEY)`);
  });
}

function readFromAll(node: Place): Promise<void> {
  return asCoordinator(node, (run) => run(`SELECT id FROM ${keyspace}.mesh WHERE id = 1`));
}

async function asCoordinator(
  node: Place,
  work: (run: (cql: string) => Promise<void>) => Promise<void>,
): Promise<void> {
  const client = createCqlClient(node);
  try {
    await client.connect();
    await work(async (cql) => {
      await client.execute(cql, [], { consistency: types.consistencies.all });
    });
  } finally {
    await client.shutdown();
  }
}
