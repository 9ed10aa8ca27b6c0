// One product that no node can process, so that what is given up is simulated as well.

import type { ParsedLeaves } from "../../service/parsed-leaves.ts";
import { poisonedId } from "../workload/push-life.ts";
import type { WorldParts } from "./world-parts.ts";

/** Fails for one product, whenever it is tried. */
export function poisoned(recordIdOf: WorldParts["recordIdOf"]): WorldParts["recordIdOf"] {
  return (business, collection, localId) => {
    if (localId === poisonedId) throw new Error("this product cannot be processed");
    return recordIdOf(business, collection, localId);
  };
}

/** What admission parsed of that product is not kept: otherwise it would be tried only after the process that admitted it has died. */
export function poisonedLeaves(leaves: ParsedLeaves): ParsedLeaves {
  return {
    ...leaves,
    take: (push, leafIndex) => {
      const leaf = leaves.take(push, leafIndex);
      return leaf?.record["business_product_id"] === poisonedId ? undefined : leaf;
    },
  };
}
