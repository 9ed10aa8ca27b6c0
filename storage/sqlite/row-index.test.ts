import { rowIndexConformance } from "../row-index.conformance.ts";
import { SqliteRowIndex } from "./row-index.ts";

rowIndexConformance("the SQLite index", async () => {
  const index = new SqliteRowIndex(":memory:");
  return { index, close: async () => index.close() };
});
