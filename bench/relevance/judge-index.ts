// Asks an index the judged queries, by relevance, and grades what it finds.

import { toRowQuery } from "../../collections/row-query.ts";
import { parseSearchRequest } from "../../collections/search-request.ts";
import type { RowIndex, RowQuery } from "../../storage/row-index.ts";
import { gradeOf, type JudgedQuery, judgedQueries } from "./judged-queries.ts";
import { ndcg, ranksMax } from "./ndcg.ts";
import { type PublishedRecord, putOf, sampleRecords } from "./sample-records.ts";

export interface JudgedAnswer {
  readonly query: JudgedQuery;
  readonly ndcg: number;
  /** Ids of the records found, in order. */
  readonly found: readonly string[];
}

/** Rows applied at a time. */
const batchRows = 200;

/** Fills an empty index with the sample records, and asks it. */
export async function judgeIndex(index: RowIndex): Promise<readonly JudgedAnswer[]> {
  const records = sampleRecords();
  const changes = records.map(putOf);
  for (let from = 0; from < changes.length; from += batchRows)
    await index.apply(changes.slice(from, from + batchRows));
  const answers: JudgedAnswer[] = [];
  for (const query of judgedQueries()) answers.push(await judgeAnswer(index, query, records));
  return answers;
}

async function judgeAnswer(
  index: RowIndex,
  query: JudgedQuery,
  records: readonly PublishedRecord[],
): Promise<JudgedAnswer> {
  const grades = new Map(
    records
      .filter(({ collection }) => collection === query.collection)
      .map(({ id, record }) => [id, gradeOf(record, query)]),
  );
  const found = (await index.search(rowQueryOf(query))).map((hit) => hit.record_id);
  const gradesFound = found.map((id) => grades.get(id) ?? 0);
  return { query, found, ndcg: ndcg(gradesFound, [...grades.values()]) };
}

/** The query as a caller writes it. */
export function rowQueryOf({ collection, country, q }: JudgedQuery): RowQuery {
  const request = parseSearchRequest({
    collection,
    q,
    filter: { all: [{ country }] },
    sort_by: "_text_match:desc",
    limit: ranksMax,
  });
  if (!request.ok) throw new Error(`${q}: ${request.detail}`);
  return toRowQuery(request.value);
}

/** Mean nDCG@10 of the answers; NaN of none. */
export function meanOf(answers: readonly JudgedAnswer[]): number {
  return answers.reduce((sum, each) => sum + each.ndcg, 0) / answers.length;
}

/** The mean of each group, by its name. */
export function meansBy(
  answers: readonly JudgedAnswer[],
  nameOf: (query: JudgedQuery) => string,
): ReadonlyMap<string, number> {
  const groups = Map.groupBy(answers, ({ query }) => nameOf(query));
  return new Map([...groups].map(([name, some]) => [name, meanOf(some)]));
}
