// Rows of an actor as a store has them. For tests.

import type { ActorRef, ActorStore, PartitionRow } from "../../../storage/actor-store.ts";

/** Stores the rows in a first commit of the actor. */
export async function storeRows(
  store: ActorStore,
  ref: ActorRef,
  puts: readonly PartitionRow[],
): Promise<void> {
  const { head } = await store.claim(ref, "eu-west1/n1");
  const outcome = await store.commit({
    ...{ ref, epoch: head.epoch, expectedHead: head.head, expectedOp: head.op },
    ...{ op: "stored", puts, deletes: [], wakeAtMs: null },
  });
  if (outcome.status !== "applied") throw new Error("The rows are not stored.");
}
