// What the lists in force decided about a leaf (L1 in changing-lists.ts).

import type { PublishOutcome } from "../../actors/messages/push.ts";
import type { SentBatch } from "../workload/batch.ts";
import { hostOf } from "../workload/product.ts";
import { blockedAtFirst, blockedLater, listsChangeAtMs } from "../world/changing-lists.ts";
import type { World } from "../world/world.ts";

/** Checks a leaf that was sealed after the lists changed; earlier ones may have been judged by either. */
export function checkListedHost({ observed, parts }: World, batch: SentBatch, outcome: PublishOutcome): void {
  const choice = batch.leaves[outcome.leaf_index]?.choice;
  if (choice === undefined || choice.fault !== null || batch.sealedAtMs < listsChangeAtMs(parts.kernel))
    return;
  const host = hostOf(choice);
  const isFlagged = outcome.errors.some(({ code }) => code === "url_flagged");
  if (host === blockedLater && outcome.version !== null)
    observed.violate("lists-in-force", `${batch.pushId} links to a host that was blocked when it was sealed`);
  if (host === blockedAtFirst && isFlagged)
    observed.violate("lists-in-force", `${batch.pushId} was refused for a host that was blocked no longer`);
}
