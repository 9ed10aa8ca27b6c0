import { Client as ElasticClient } from "@elastic/elasticsearch";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createCqlClient } from "./cassandra.ts";
import { enginesUnderTest } from "./under-test.fixture.ts";

const engines = enginesUnderTest();
const address = engines.cassandra[0] ?? "";
const dataCenter = engines.regions[0] ?? "";
const keyspace = `engines_${process.pid}_${Date.now()}`;
const client = createCqlClient({ address, dataCenter });

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

describe("the Cassandra that tests run on", () => {
  it("is the version and has the settings that the stores rely on", async () => {
    const local = await client.execute("SELECT release_version, data_center FROM system.local");
    expect(local.first()).toMatchObject({ release_version: "5.0.6", data_center: dataCenter });
    const names = ["paxos_variant", "commitlog_sync", "batch_size_fail_threshold"];
    const found = await client.execute("SELECT name, value FROM system_views.settings");
    const values = new Map(found.rows.map((row) => [row["name"], row["value"]]));
    expect(names.map((name) => values.get(name))).toEqual(["v2", "batch", "1024KiB"]);
  });

  it("applies a conditional write once", async () => {
    const insert = `INSERT INTO ${keyspace}.t (id, v) VALUES (1, 1) IF NOT EXISTS`;
    expect((await client.execute(insert)).wasApplied()).toBe(true);
    expect((await client.execute(insert)).wasApplied()).toBe(false);
  });
});

describe("the Elasticsearch that tests run on", () => {
  it("takes a document and finds it", async () => {
    const elastic = new ElasticClient({ node: engines.elastic[0] ?? "" });
    const index = keyspace;
    await elastic.index({ index, id: "1", document: { name: "ring" }, refresh: true });
    const found = await elastic.search({ index, query: { match: { name: "ring" } } });
    expect(found.hits.hits.map((hit) => hit._id)).toEqual(["1"]);
    await elastic.indices.delete({ index });
    await elastic.close();
  });
});
