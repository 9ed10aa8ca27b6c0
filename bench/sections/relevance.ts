// How well searches by relevance answer the judged queries over the sample catalogues, on each engine.

import type { RowIndex } from "../../storage/row-index.ts";
import { SqliteRowIndex } from "../../storage/sqlite/row-index.ts";
import { openElasticIndex } from "../relevance/elastic-index.ts";
import { type JudgedAnswer, judgeIndex, meanOf, meansBy } from "../relevance/judge-index.ts";
import type { Figure } from "../report.ts";
import type { World } from "../world.ts";

/** The mean over all queries that must be reached on every engine; relevance.test.ts asserts it. */
export const ndcgGoal = 0.97;

export async function measureRelevance(world: World): Promise<readonly Figure[]> {
  const embedded = new SqliteRowIndex(world.path("relevance.db"));
  const ofEmbedded = await measureOn("the embedded store", embedded).finally(() => embedded.close());
  await using elastic = await openElasticIndex((what) => world.say(what));
  if (elastic === null) return [ofEmbedded.figure];
  const ofElastic = await measureOn("Elasticsearch", elastic.index);
  return [ofEmbedded.figure, withSame(ofElastic, ofEmbedded.answers)];
}

interface Measured {
  readonly figure: Figure;
  readonly answers: readonly JudgedAnswer[];
}

async function measureOn(engine: string, index: RowIndex): Promise<Measured> {
  const answers = await judgeIndex(index);
  const parts = (nameOf: Parameters<typeof meansBy>[1]): string =>
    [...meansBy(answers, nameOf)].map(([name, mean]) => `${name} ${mean.toFixed(3)}`).join(", ");
  const figure: Figure = {
    section: "relevance",
    name: `nDCG@10, ${answers.length} judged queries, ${engine}`,
    unit: "",
    ours: meanOf(answers),
    floor: null,
    ratio: null,
    goal: { atLeast: ndcgGoal },
    note: `By language: ${parts(({ language }) => language)}; by kind: ${parts(({ kind }) => kind)}; by collection: ${parts(({ collection }) => collection)}.`,
  };
  return { figure, answers };
}

/** Says also how many of the answers are those of the embedded store, row by row. */
function withSame({ figure, answers }: Measured, others: readonly JudgedAnswer[]): Figure {
  const same = answers.filter(
    ({ found }, index) => JSON.stringify(found) === JSON.stringify(others[index]?.found),
  );
  const note = `${figure.note} ${same.length} of ${answers.length} answers are the same rows in the same order as the embedded store's.`;
  return { ...figure, note };
}
