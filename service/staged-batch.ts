// What is stored of a batch before its push is accepted, and goes when it is not (W2 in publish.ts).

import type { ActorRef } from "../actors/messages/refs.ts";
import type { RecordStore } from "../storage/record-store.ts";
import type { Batch } from "./publish-batch.ts";
import type { PublishBody } from "./publish-body.ts";
import type { PushTrees } from "./push-trees.ts";

export interface StagingDeps {
  readonly records: RecordStore;
  readonly trees: PushTrees;
}

export async function stageBatch(
  { records, trees }: StagingDeps,
  push: ActorRef<"push">,
  { body, batch }: { readonly body: PublishBody; readonly batch: Batch },
): Promise<void> {
  await records.stageLeaves(push.id, 0, body.records);
  await records.putSeal({
    seal_id: batch.pushId,
    envelope: JSON.stringify(body.batchSeal),
    tree_size: body.records.length,
  });
  trees.put(push.id, batch.tree);
}

/** Takes away what was staged up to an instant, or all of it: what the same batch, sent again, staged since stays. */
export async function dropStaged(
  { records, trees }: StagingDeps,
  push: ActorRef<"push">,
  untilMs?: number,
): Promise<void> {
  await records.dropStaged(push.id, untilMs);
  trees.drop(push.id);
}
