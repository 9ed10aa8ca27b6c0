import { rowIndexConformance } from "../row-index.conformance.ts";
import { MemoryRowIndex } from "./row-index.ts";

rowIndexConformance("the index in memory", async () => ({
  index: new MemoryRowIndex(),
  close: async () => {},
}));
