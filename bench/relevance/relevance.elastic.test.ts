// Elasticsearch answers the judged queries with the same rows in the same order as the index that reads every row, and so as
// the embedded store (relevance.test.ts).

import { describe, expect, it } from "vitest";
import { hasElastic, openFresh } from "../../storage/elasticsearch/elastic.fixture.ts";
import { MemoryRowIndex } from "../../storage/memory/row-index.ts";
import { judgeIndex, meanOf, ndcgGoal } from "./judge-index.fixture.ts";

describe.skipIf(!hasElastic)("Elasticsearch", () => {
  it("answers the judged queries as the embedded store does", async () => {
    const elastic = await openFresh();
    try {
      const answers = await judgeIndex(elastic.index);
      const expected = await judgeIndex(new MemoryRowIndex());
      expect(answers.map(({ found }) => found)).toEqual(expected.map(({ found }) => found));
      expect(meanOf(answers)).toBeGreaterThanOrEqual(ndcgGoal);
    } finally {
      await elastic.close();
    }
  });
});
