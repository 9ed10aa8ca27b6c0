// What must hold of withdrawals, deletions and purges at rest.
//   D1. A document that was answered as accepted is kept, with its seal.
//   D2. A version that is served has its bytes: no purge took them.
//   D3. What a proof says is purged has no bytes and no row in any region.
//   D4. Only a deletion leads to a purge.

import { businessRef } from "../../actors/messages/refs.ts";
import type { Purged } from "../../actors/messages/removal.ts";
import type { RecordVersion } from "../../storage/record-store.ts";
import type { Journal } from "../workload/journal.ts";
import type { SimNode } from "../world/sim-node.ts";
import type { World } from "../world/world.ts";
import type { OwnersHead } from "./at-rest.ts";

/** Longer than any replication takes once nothing fails. */
const arrivalMs = 2_000;

/** Asks the owners about every document that was sent, and compares what every region stores with what they say. */
export async function checkPurges(
  world: World,
  node: SimNode,
  journal: Journal,
  heads: ReadonlyMap<string, OwnersHead | null>,
): Promise<void> {
  const { observed, parts } = world;
  const versions = parts.stores.tables.of<RecordVersion>("record_version");
  const isBare = (version: RecordVersion | null): boolean => version !== null && version.bytes.length === 0;
  const purges: Purged[] = [];
  for (const removal of journal.removals) {
    const question = { type: "removal.read", document_hash: removal.document } as const;
    const { removal: kept, purged } = await node.system.ask(businessRef(removal.business.uuid), question);
    if (removal.isRemoved && kept?.record_id !== removal.recordId)
      observed.violate("documents-are-kept", `${removal.document} was accepted and is not known`);
    if (purged === null) continue;
    observed.mark("record.purged");
    purges.push(purged);
    if (removal.action !== "delete")
      observed.violate("purges-are-asked-for", `${removal.recordId} was purged by a withdrawal`);
  }
  // What was purged last is still on its way to the other regions.
  await new Promise<void>((resolve) => parts.kernel.after(arrivalMs, "purges arrive", resolve));
  for (const { record_id, versions: gone } of purges) {
    for (const { generation } of gone) {
      for (const region of parts.regions) {
        const stored = versions.read(region, `${record_id}/${generation}`);
        if (!isBare(stored) || stored?.row !== "")
          observed.violate(
            "purged-is-gone",
            `version ${generation} of ${record_id} has its bytes in ${region}`,
          );
      }
    }
  }
  for (const [recordId, head] of heads) {
    if (!head?.live) continue;
    for (const region of parts.regions)
      if (isBare(versions.read(region, `${recordId}/${head.generation}`)))
        observed.violate(
          "served-has-bytes",
          `version ${head.generation} of ${recordId} was purged in ${region}`,
        );
  }
}
