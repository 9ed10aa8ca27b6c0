// What must hold at rest of records that operators took out of serving; what regions serve and index is compared with the owners in at-rest.ts.

import type { Journal } from "../workload/journal.ts";
import type { World } from "../world/world.ts";
import type { Truth } from "./at-rest.ts";

/** An owner knows what operators keep out of serving, of all live records and of no other. */
export function checkTakedowns({ observed }: World, journal: Journal, { heads }: Truth): void {
  const owners = new Map(
    [...journal.batches.values()].flatMap(({ business, leaves }) =>
      leaves.map(({ recordId }) => [recordId, business.uuid] as const),
    ),
  );
  for (const [recordId, head] of heads) {
    if (!head?.live) continue;
    const subjects = [owners.get(recordId) ?? "", recordId].flatMap(
      (subject) => journal.takedowns.get(subject) ?? [],
    );
    // What was never answered may have been done or not.
    if (subjects.some(({ sinceMs }) => !Number.isFinite(sinceMs))) continue;
    const isDown = subjects.some((each) => each.isDown);
    if (isDown !== (head.unserved === true))
      observed.violate(
        "taken-down-is-absent",
        `${recordId} is ${isDown ? "" : "not "}taken down, and its owner says that it is ${head.unserved ? "not " : ""}served`,
      );
  }
}
