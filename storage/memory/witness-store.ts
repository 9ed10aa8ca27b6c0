// What a witness remembers, in this process: for the simulator, whose witnesses never end.

import { assertForward, type WitnessedHead, type WitnessStore } from "../witness-store.ts";

/** Opens the memory that is in `heads`; by default an empty one. */
export function memoryWitnessStore(heads = new Map<string, WitnessedHead>()): WitnessStore {
  return {
    read: async (origin) => heads.get(origin) ?? null,
    advance: async (origin, from, to) => {
      assertForward(from, to);
      const now = heads.get(origin);
      if (now?.size !== from?.size || now?.root !== from?.root) return false;
      heads.set(origin, to);
      return true;
    },
  };
}
