// An empty index in Elasticsearch: in the cluster that `SVC_TEST_ELASTIC` names, or in one that is started for it.

import { collectionNames } from "../../protocol/identifiers.ts";
import { readGenerations, removeGeneration } from "../../storage/elasticsearch/generations.ts";
import { rebuildIndex } from "../../storage/elasticsearch/rebuild.ts";
import { ElasticRowIndex } from "../../storage/elasticsearch/row-index.ts";
import type { RowChange } from "../../storage/row-index.ts";
import { EngineUnavailable } from "../../tools/engines/maven.ts";
import { startProfile } from "../../tools/engines/profiles.ts";

export interface OpenElasticIndex extends AsyncDisposable {
  readonly index: ElasticRowIndex;
}

/** Returns null, and says so, where this machine cannot run one. */
export async function openElasticIndex(say: (what: string) => void): Promise<OpenElasticIndex | null> {
  const running = (process.env["SVC_TEST_ELASTIC"] ?? "").split(",")[0] ?? "";
  if (running !== "") return openAt(running);
  try {
    say("starting Elasticsearch");
    const profile = await startProfile("one", { progress: say });
    try {
      const { index } = await openAt(profile.elastic[0]?.url ?? "");
      return { index, [Symbol.asyncDispose]: () => index.close().finally(() => profile.stop()) };
    } catch (error) {
      await profile.stop();
      throw error;
    }
  } catch (error) {
    if (!(error instanceof EngineUnavailable)) throw error;
    const line = "!".repeat(100);
    console.error(`${line}\nNOT MEASURED: relevance on Elasticsearch. ${error.message}.\n${line}`);
    return null;
  }
}

async function* noRows(): AsyncGenerator<RowChange> {}

/** The index is removed at the end. */
async function openAt(url: string): Promise<OpenElasticIndex> {
  const prefix = `svc-relevance-${process.pid.toString(36)}${Date.now().toString(36)}-`;
  const index = new ElasticRowIndex({ nodes: [url], prefix, replicas: 0 });
  for (const collection of collectionNames)
    await rebuildIndex(index, { collection, source: noRows(), nowMs: Date.now });
  const remove = async (): Promise<void> => {
    for (const collection of collectionNames) {
      const { serving } = await readGenerations(index.engine, index.namesOf(collection));
      if (serving !== null) await removeGeneration(index.engine, serving);
    }
    await index.close();
  };
  return { index, [Symbol.asyncDispose]: remove };
}
