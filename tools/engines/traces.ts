// What a cluster of a test or of the benchmark leaves behind in the engines.

import { createCqlClient } from "./cassandra.ts";

export interface UsedEngines {
  /** Addresses of the Cassandra nodes; the first ones belong to the first region. */
  readonly cassandra: readonly string[];
  /** URL of each region's Elasticsearch. */
  readonly elastic: readonly string[];
  readonly regions: readonly string[];
}

export async function dropTraces(engines: UsedEngines, name: string): Promise<void> {
  const [address = "", dataCenter = ""] = [engines.cassandra[0], engines.regions[0]];
  const client = createCqlClient({ address, dataCenter });
  try {
    await client.connect();
    await client.execute(`DROP KEYSPACE IF EXISTS ${name}`, [], { readTimeout: 60_000 });
  } finally {
    await client.shutdown();
  }
  for (const url of engines.elastic) {
    const answer = await fetch(`${url}/_cat/indices/${name}-*?h=index&expand_wildcards=all`);
    const names = answer.ok ? (await answer.text()).split("\n").filter((each) => each !== "") : [];
    for (const each of names) await fetch(`${url}/${each}`, { method: "DELETE" });
  }
}
