// The files of the engines on which a test runs: where they are, and that they contain everything that was written. For tests.

import { join } from "node:path";
import { createCqlClient } from "../../tools/engines/cassandra.ts";
import type { EnginesUnderTest } from "../../tools/engines/under-test.fixture.ts";
import { filesWithAny } from "../retrieval/files-with.fixture.ts";

export interface EngineFolder {
  /** For example `cassandra eu-west1 commitlog`. */
  readonly name: string;
  readonly path: string;
}

/** All folders in which the engines keep data, as they say themselves. */
export async function engineFolders(engines: EnginesUnderTest): Promise<readonly EngineFolder[]> {
  const folders: EngineFolder[] = [];
  for (const [index, address] of engines.cassandra.entries()) {
    const region = engines.regions[index] ?? "";
    for (const [name, path] of await cassandraFolders(address, region))
      folders.push({ name: `cassandra ${region} ${name}`, path });
  }
  for (const [index, url] of engines.elastic.entries())
    folders.push({ name: `elastic ${engines.regions[index]}`, path: await elasticFolder(url) });
  return folders;
}

const cassandraSettings = {
  data: "data_file_directories",
  commitlog: "commitlog_directory",
  hints: "hints_directory",
  caches: "saved_caches_directory",
} as const;

async function cassandraFolders(
  address: string,
  dataCenter: string,
): Promise<readonly (readonly [string, string])[]> {
  const client = createCqlClient({ address, dataCenter });
  try {
    await client.connect();
    const { rows } = await client.execute("SELECT name, value FROM system_views.settings");
    const values = new Map(rows.map((row) => [String(row["name"]), String(row["value"])]));
    return Object.entries(cassandraSettings).map(([name, setting]) => {
      // A list is written in brackets.
      const path = values.get(setting)?.replace(/^\[|\]$/g, "");
      if (path === undefined || !path.startsWith("/"))
        throw new Error(`Cassandra says nothing of ${setting}.`);
      return [name, path];
    });
  } finally {
    await client.shutdown();
  }
}

async function elasticFolder(url: string): Promise<string> {
  const answer = await fetch(`${url}/_nodes?filter_path=nodes.*.settings.path`);
  const { nodes } = (await answer.json()) as {
    readonly nodes: Readonly<
      Record<string, { readonly settings: { readonly path: { readonly data: string } } }>
    >;
  };
  const [node] = Object.values(nodes);
  if (node === undefined) throw new Error(`${url} names no node.`);
  return node.settings.path.data;
}

/** Lets the tables of a keyspace be written as they are: a compressed file hides what it contains. */
export async function writePlainTables(engines: EnginesUnderTest, keyspace: string): Promise<void> {
  const [address = "", dataCenter = ""] = [engines.cassandra[0], engines.regions[0]];
  const client = createCqlClient({ address, dataCenter });
  try {
    await client.connect();
    const { rows } = await client.execute(
      "SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?",
      [keyspace],
    );
    for (const row of rows) {
      const table = `${keyspace}.${String(row["table_name"])}`;
      await client.execute(`ALTER TABLE ${table} WITH compression = {'enabled': 'false'}`, [], {
        readTimeout: 60_000,
      });
    }
  } finally {
    await client.shutdown();
  }
}

/** Brings what is in memory to the files. */
export async function flushEngines(engines: EnginesUnderTest): Promise<void> {
  await Promise.all(engines.cassandra.map((_, index) => engines.faults().compactCassandra(index)));
  for (const url of engines.elastic) {
    const answer = await fetch(`${url}/_flush?force=true&wait_if_ongoing=true`, { method: "POST" });
    if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  }
}

/** The files of the folders that contain one of the words, each by its folder's name and with the words. */
export async function engineFilesWith(
  folders: readonly EngineFolder[],
  words: readonly string[],
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const { name, path } of folders)
    for (const each of await filesWithAny(path, words))
      found.push(`${join(name, each.file)}: ${each.words.join(" ")}`);
  return found;
}
