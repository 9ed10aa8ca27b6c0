// A test's own indices in the cluster that `SVC_TEST_ELASTIC` names (URLs, comma-separated: one per region; the first is
// used), under a unique prefix, removed when the test is over.

import { type CollectionName, collectionNames } from "../../protocol/identifiers.ts";
import type { RowChange } from "../row-index.ts";
import type { Engine } from "./engine.ts";
import { readGenerations, removeGeneration } from "./generations.ts";
import { IndexNames } from "./layout.ts";
import { rebuildIndex } from "./rebuild.ts";
import { ElasticRowIndex, type ElasticRowIndexOptions } from "./row-index.ts";

export const elasticUrl = (process.env["SVC_TEST_ELASTIC"] ?? "").split(",")[0] ?? "";
/** Whether there is an engine to test with. */
export const hasElastic = elasticUrl !== "";

let opened = 0;

/** Options of a unique index. */
export function freshOptions(): ElasticRowIndexOptions {
  opened += 1;
  const prefix = `svc-test-${process.pid}-${Math.trunc(Math.random() * 1e9).toString(36)}-${opened}-`;
  // A busy machine may take the processor away for longer than a search may take.
  return { nodes: [elasticUrl], prefix, replicas: 0, searchTimeoutMs: 60_000 };
}

/** Opens an index without rows; with only some of the collections if a test needs no more. */
export async function openFresh(collections: readonly CollectionName[] = collectionNames) {
  const options = freshOptions();
  const index = new ElasticRowIndex(options);
  for (const collection of collections)
    await rebuildIndex(index, { collection, source: rowsOf(), nowMs: Date.now });
  return {
    index,
    options,
    close: async () => {
      await removeAll(index.engine, options.prefix);
      await index.close();
    },
  };
}

/** A source with exactly these changes. */
export async function* rowsOf(...changes: readonly RowChange[]): AsyncGenerator<RowChange> {
  yield* changes;
}

/** Removes every generation of every collection under a prefix. */
export async function removeAll(engine: Engine, prefix: string): Promise<void> {
  for (const collection of collectionNames) {
    const { serving, next, others } = await readGenerations(engine, new IndexNames(prefix, collection));
    for (const each of [serving, next, ...others]) if (each !== null) await removeGeneration(engine, each);
  }
}
