// What is stored of a batch before its push is accepted, and removed if it is not (W2 in publish.ts).

import type { ActorRef } from "../actors/messages/refs.ts";
import type { Clock } from "../crypto/port.ts";
import type { RecordStore } from "../storage/record-store.ts";
import type { Batch } from "./publish-batch.ts";
import type { PublishBody } from "./publish-body.ts";
import type { PushLeaves } from "./push-leaves.ts";

export interface StagingDeps {
  readonly records: RecordStore;
  readonly leaves: Pick<PushLeaves, "put" | "drop">;
  readonly clock: Clock;
}

export interface StagedBatch {
  /** Read before anything was staged. */
  readonly stagingAtMs: number;
  /** Removes it again. */
  drop(): Promise<void>;
  /** The same, except for what a resend of the same batch has staged since. */
  dropOwn(): Promise<void>;
}

export async function stageBatch(
  { records, leaves, clock }: StagingDeps,
  push: ActorRef<"push">,
  { body, batch }: { readonly body: PublishBody; readonly batch: Batch },
): Promise<StagedBatch> {
  const stagingAtMs = clock.now();
  await records.stageLeaves(push.id, 0, body.records);
  await records.putSeal({
    seal_id: batch.pushId,
    envelope: JSON.stringify(body.batchSeal),
    tree_size: body.records.length,
  });
  leaves.put(push.id, batch.tree);
  const stagedMs = clock.now();
  const drop = async (untilMs?: number): Promise<void> => {
    await records.dropStaged(push.id, untilMs);
    leaves.drop(push.id);
  };
  return { stagingAtMs, drop: () => drop(), dropOwn: () => drop(stagedMs) };
}
