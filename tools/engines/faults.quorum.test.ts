import { types } from "cassandra-driver";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createCqlClient } from "./cassandra.ts";
import { enginesUnderTest } from "./under-test.fixture.ts";

const engines = enginesUnderTest();
const dataCenter = engines.regions[0] ?? "";
const keyspace = `faults_${process.pid}_${Date.now()}`;
const client = createCqlClient({ address: engines.cassandra[0] ?? "", dataCenter });
const consistency = types.consistencies;

beforeAll(async () => {
  await client.connect();
  const replication = `{'class': 'NetworkTopologyStrategy', '${dataCenter}': ${engines.replication}}`;
  await client.execute(`CREATE KEYSPACE ${keyspace} WITH replication = ${replication}`);
  await client.execute(`CREATE TABLE ${keyspace}.t (id int PRIMARY KEY, v int)`);
});
afterAll(async () => {
  await client.execute(`DROP KEYSPACE ${keyspace}`);
  await client.shutdown();
});

async function put(id: number, level: types.consistencies): Promise<void> {
  await client.execute(`INSERT INTO ${keyspace}.t (id, v) VALUES (${id}, ${id})`, [], { consistency: level });
}

describe("three Cassandra nodes", () => {
  it("take quorum writes with one killed, and all writes once it is back", async () => {
    await put(1, consistency.all);
    await engines.faults().killCassandra(2);
    await put(2, consistency.localQuorum);
    await expect(put(3, consistency.all)).rejects.toThrow();
    await engines.faults().startCassandra(2);
    // It answers, and each of the others still has to learn that. They coordinate in turn.
    const takeAll = async () => {
      for (let time = 0; time < 2 * engines.cassandra.length; time += 1) await put(4, consistency.all);
    };
    await expect.poll(() => takeAll().then(() => "taken", String), { timeout: 100_000 }).toBe("taken");
    const found = await client.execute(`SELECT id FROM ${keyspace}.t WHERE id IN (1, 2, 4)`, [], {
      consistency: consistency.all,
    });
    expect(found.rowLength).toBe(3);
  });

  it("take quorum writes with one paused", async () => {
    await engines.faults().pauseCassandra(1);
    await put(5, consistency.localQuorum);
    await engines.faults().resumeCassandra(1);
    await put(6, consistency.all);
  });
});
