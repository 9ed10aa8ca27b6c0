// How well searches by relevance answer the judged queries over the sample catalogues, on each engine.

import { collectionNames } from "../../protocol/identifiers.ts";
import { readGenerations, removeGeneration } from "../../storage/elasticsearch/generations.ts";
import { rebuildIndex } from "../../storage/elasticsearch/rebuild.ts";
import { ElasticRowIndex } from "../../storage/elasticsearch/row-index.ts";
import type { RowChange } from "../../storage/row-index.ts";
import { SqliteRowIndex } from "../../storage/sqlite/row-index.ts";
import { openEngines } from "../cluster/engines.ts";
import { figure, type Measured } from "../figures.ts";
import { type JudgedAnswer, judgeIndex, meanOf, meansBy, ndcgGoal } from "../relevance/judge-index.ts";
import type { World } from "../world.ts";

export async function measureRelevance(world: World): Promise<readonly Measured[]> {
  const embedded = new SqliteRowIndex(world.path("relevance.db"));
  const answers = await judgeIndex(embedded).finally(() => embedded.close());
  const ofEmbedded = figureOf("the embedded store", answers, "");
  const say = (what: string): void => world.say(what);
  await using engines = await openEngines("one", "relevance on Elasticsearch", say);
  if (engines === null) return [ofEmbedded];
  const found = await judgeElastic(engines.elastic[0] ?? "");
  const rowsOf = (answer: JudgedAnswer | undefined): string => JSON.stringify(answer?.found);
  const same = found.filter((answer, at) => rowsOf(answer) === rowsOf(answers[at])).length;
  const more = ` ${same} of ${found.length} answers are the same rows in the same order as the embedded store's.`;
  return [ofEmbedded, figureOf("Elasticsearch", found, more)];
}

function figureOf(engine: string, answers: readonly JudgedAnswer[], more: string): Measured {
  const parts = (nameOf: Parameters<typeof meansBy>[1]): string =>
    [...meansBy(answers, nameOf)].map(([name, mean]) => `${name} ${mean.toFixed(3)}`).join(", ");
  return figure(
    `nDCG@10, ${answers.length} judged queries, ${engine}`,
    "",
    meanOf(answers),
    { atLeast: ndcgGoal },
    `By language: ${parts(({ language }) => language)}; by kind: ${parts(({ kind }) => kind)}; by collection: ${parts(({ collection }) => collection)}.${more}`,
  );
}

async function* noRows(): AsyncGenerator<RowChange> {}

/** Judges an empty index, which is removed at the end. */
async function judgeElastic(url: string): Promise<readonly JudgedAnswer[]> {
  const prefix = `svc-relevance-${process.pid.toString(36)}${Date.now().toString(36)}-`;
  const index = new ElasticRowIndex({ nodes: [url], prefix, replicas: 0 });
  try {
    for (const collection of collectionNames)
      await rebuildIndex(index, { collection, source: noRows(), nowMs: Date.now });
    return await judgeIndex(index);
  } finally {
    for (const collection of collectionNames) {
      const { serving } = await readGenerations(index.engine, index.namesOf(collection));
      if (serving !== null) await removeGeneration(index.engine, serving);
    }
    await index.close();
  }
}
