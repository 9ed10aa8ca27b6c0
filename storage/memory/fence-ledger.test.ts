import { fenceLedgerConformance } from "../fence-ledger.conformance.ts";
import { MemoryFenceLedger } from "./fence-ledger.ts";

fenceLedgerConformance("the memory store", async () => {
  const ledger = new MemoryFenceLedger();
  return { region: "east", handle: async () => ledger, close: async () => {} };
});
