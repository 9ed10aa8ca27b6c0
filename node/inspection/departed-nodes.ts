// Nodes that were among the members and are not any more, although they did not leave in order: killed, cut off, or standing still.
//   DN1. One that was leaving is not among them, and neither is one whose address has a member again.
//   DN2. They are remembered for an hour, 64 at most, by nodes that run all the while; nobody else knows of them.

import type { Membership } from "../../cluster/membership.ts";
import type { Member } from "../../storage/cluster-store.ts";

export interface DepartedNode extends Pick<Member, "incarnation" | "address"> {
  readonly region: string;
  /** When this node learnt of it. */
  readonly sinceMs: number;
}

const keptMs = 3_600_000;
const nodesMax = 64;

export function createDepartedNodes(
  membership: Pick<Membership, "view" | "onChange">,
  { regionNames, nowMs }: { readonly regionNames: readonly string[]; readonly nowMs: () => number },
): () => readonly DepartedNode[] {
  const before = new Map<string, readonly Member[]>();
  let departed: readonly DepartedNode[] = [];
  const look = (): void => {
    for (const region of regionNames) {
      const { members } = membership.view(region);
      const isThere = ({ incarnation }: Member): boolean =>
        members.some((each) => each.incarnation === incarnation);
      const gone = (before.get(region) ?? []).filter((each) => each.state !== "leaving" && !isThere(each));
      before.set(region, members);
      const fresh = gone.map(({ incarnation, address }) => ({
        incarnation,
        address,
        region,
        sinceMs: nowMs(),
      }));
      departed = [...departed, ...fresh]
        .filter((each) => each.region !== region || !members.some(({ address }) => address === each.address))
        .slice(-nodesMax);
    }
  };
  look();
  membership.onChange(look);
  return () => departed.filter(({ sinceMs }) => nowMs() - sinceMs < keptMs);
}
