import { types } from "cassandra-driver";
import { describe, expect, it } from "vitest";
import { createCqlClient } from "./cassandra.ts";
import { enginesUnderTest } from "./under-test.fixture.ts";

const engines = enginesUnderTest();

describe("two regions", () => {
  it("are a data centre and an index each, and a row of one is read in the other", async () => {
    const keyspace = `regions_${process.pid}_${Date.now()}`;
    const clients = engines.regions.map((dataCenter, index) =>
      createCqlClient({ address: engines.cassandra[index] ?? "", dataCenter }),
    );
    const [here, there] = clients;
    if (here === undefined || there === undefined) throw new Error("There are not two regions.");
    await Promise.all(clients.map((client) => client.connect()));
    const places = engines.regions.map((name) => `'${name}': ${engines.replication}`).join(", ");
    const replication = `{'class': 'NetworkTopologyStrategy', ${places}}`;
    await here.execute(`CREATE KEYSPACE ${keyspace} WITH replication = ${replication}`);
    await here.execute(`CREATE TABLE ${keyspace}.t (id int PRIMARY KEY)`);
    const each = { consistency: types.consistencies.eachQuorum };
    await here.execute(`INSERT INTO ${keyspace}.t (id) VALUES (1)`, [], each);
    const local = { consistency: types.consistencies.localQuorum };
    const found = await there.execute(`SELECT id FROM ${keyspace}.t WHERE id = 1`, [], local);
    expect(found.rowLength).toBe(1);
    await here.execute(`DROP KEYSPACE ${keyspace}`);
    await Promise.all(clients.map((client) => client.shutdown()));
    const health = await Promise.all(engines.elastic.map((url) => fetch(`${url}/_cluster/health`)));
    const names = await Promise.all(
      health.map(async (answer) => (await answer.json()) as { cluster_name: string }),
    );
    expect(names.map((each) => each.cluster_name)).toEqual(engines.regions.map((name) => `svc-${name}`));
  });
});
