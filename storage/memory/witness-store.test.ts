import { witnessStoreConformance } from "../witness-store.conformance.ts";
import type { WitnessedHead } from "../witness-store.ts";
import { memoryWitnessStore } from "./witness-store.ts";

witnessStoreConformance("memory", async () => {
  const heads = new Map<string, WitnessedHead>();
  const close = async (): Promise<void> => {};
  return {
    store: memoryWitnessStore(heads),
    reopen: async () => ({ store: memoryWitnessStore(heads), close }),
    close,
  };
});
