// Engines that are killed externally, as by a person who tries things out: each is restarted on its data.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createCqlClient } from "./cassandra.ts";
import { keepEngines } from "./kept-engines.ts";
import { type EnginePart, type EngineProfile, startProfile } from "./profiles.ts";

let engines: EngineProfile;
const stop = new AbortController();
const told: string[] = [];

beforeAll(async () => {
  engines = await startProfile("one");
  keepEngines(engines, { tell: (line) => told.push(line), stop: stop.signal, restartMs: 200 });
}, 300_000);
afterAll(async () => {
  stop.abort();
  await engines?.stop();
});

async function killed(kind: string): Promise<void> {
  const part = engines.parts.find(({ name }) => name.startsWith(kind)) as EnginePart;
  const before = part.process().pid;
  process.kill(before, "SIGKILL");
  await expect.poll(() => told.at(-1), { timeout: 200_000 }).toBe(`${part.name} answers again`);
  expect(told.at(-2)).toBe(`${part.name} has ended. It starts again in 0.2 s.`);
  expect(part.process().pid).not.toBe(before);
}

describe("an engine that is killed is started again", () => {
  it("Cassandra, with what it had acknowledged", { timeout: 250_000 }, async () => {
    const [{ address, dataCenter }] = engines.cassandra as [EngineProfile["cassandra"][number]];
    const run = async (...statements: readonly string[]) => {
      const client = createCqlClient({ address, dataCenter });
      await client.connect();
      try {
        let rows: readonly unknown[] = [];
        for (const cql of statements) rows = (await client.execute(cql)).rows ?? [];
        return rows;
      } finally {
        await client.shutdown();
      }
    };
    await run(
      `CREATE KEYSPACE kept WITH replication = {'class': 'NetworkTopologyStrategy', '${dataCenter}': 1}`,
      "CREATE TABLE kept.t (id int PRIMARY KEY)",
      "INSERT INTO kept.t (id) VALUES (7)",
    );
    await killed("Cassandra");
    expect(await run("SELECT id FROM kept.t")).toMatchObject([{ id: 7 }]);
  });

  it("Elasticsearch, also when only its launcher was killed", { timeout: 250_000 }, async () => {
    const url = `${engines.elastic[0]?.url}/kept/_doc/1`;
    const body = JSON.stringify({ name: "ring" });
    const headers = { "content-type": "application/json" };
    expect((await fetch(`${url}?refresh=true`, { method: "PUT", body, headers })).status).toBe(201);
    await killed("Elasticsearch");
    const found = await fetch(url);
    expect(await found.json()).toMatchObject({ found: true, _source: { name: "ring" } });
  });
});
