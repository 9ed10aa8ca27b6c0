// Asks an index the judged queries, by relevance, and grades what it finds by normalised discounted cumulative gain of the first ten
// (Järvelin and Kekäläinen 2002, with the gains 2^grade - 1 of Burges et al. 2005): 1 for the best possible order, 0 if nothing
// relevant is among them.

import type { RowIndex } from "../../storage/row-index.ts";
import { rowQueryOf } from "../catalogue.ts";
import { gradeOf, type JudgedQuery, judgedQueries } from "./judged-queries.ts";
import { putOf, sampleRecords } from "./sample-records.ts";

export interface JudgedAnswer {
  readonly query: JudgedQuery;
  readonly ndcg: number;
  readonly found: readonly string[];
}

/** The mean over all queries that must be reached on every engine; relevance.test.ts asserts it. */
export const ndcgGoal = 0.97;
const ranksMax = 10;
const batchRows = 200;

/** Fills an empty index with the sample records, and asks it. */
export async function judgeIndex(index: RowIndex): Promise<readonly JudgedAnswer[]> {
  const records = sampleRecords();
  const changes = records.map(putOf);
  for (let from = 0; from < changes.length; from += batchRows)
    await index.apply(changes.slice(from, from + batchRows));
  const answers: JudgedAnswer[] = [];
  for (const query of judgedQueries()) {
    const { collection, country, q } = query;
    const some = records.filter((each) => each.collection === collection);
    const grades = new Map(some.map(({ id, record }) => [id, gradeOf(record, query)]));
    const asked = rowQueryOf({
      ...{ collection, q, filter: { all: [{ country }] }, sort_by: "_text_match:desc", limit: ranksMax },
    });
    const found = (await index.search(asked)).map((hit) => hit.record_id);
    const gradesFound = found.map((id) => grades.get(id) ?? 0);
    answers.push({ query, found, ndcg: ndcg(gradesFound, [...grades.values()]) });
  }
  return answers;
}

/** `found` has the grades in the order of the answer, `all` those of everything that could have been found. */
export function ndcg(found: readonly number[], all: readonly number[]): number {
  const ideal = gain(all.toSorted((a, b) => b - a));
  return ideal === 0 ? 1 : gain(found) / ideal;
}

function gain(grades: readonly number[]): number {
  return grades
    .slice(0, ranksMax)
    .reduce((sum, grade, rank) => sum + (2 ** grade - 1) / Math.log2(rank + 2), 0);
}

/** Mean nDCG@10 of the answers; NaN of none. */
export function meanOf(answers: readonly JudgedAnswer[]): number {
  return answers.reduce((sum, each) => sum + each.ndcg, 0) / answers.length;
}

export function meansBy(
  answers: readonly JudgedAnswer[],
  nameOf: (query: JudgedQuery) => string,
): ReadonlyMap<string, number> {
  const groups = Map.groupBy(answers, ({ query }) => nameOf(query));
  return new Map([...groups].map(([name, some]) => [name, meanOf(some)]));
}
