// Which nodes of a region are seen to be alive, for an operator who is about to say that none is.
//   S1. A beat whose count changes while it is watched is a sign of life, whatever its age: beats of another region arrive
//       late. Without such a sign nothing is known: a region that is cut off beats unseen.

import type { TimerPort } from "../actors/system/ports.ts";
import type { ClusterStore } from "../storage/cluster-store.ts";

export interface BeatingOptions {
  readonly store: Pick<ClusterStore, "readBeats" | "readView">;
  readonly timers: TimerPort;
}

/** `address (incarnation)` of each, after `watchMs`; just the incarnation where the region's view does not have it. */
export async function stillBeating(
  { store, timers }: BeatingOptions,
  region: string,
  watchMs: number,
): Promise<readonly string[]> {
  const before = new Map((await store.readBeats(region)).map((beat) => [beat.incarnation, beat.count]));
  await new Promise<void>((resolve) => void timers.schedule(watchMs, resolve));
  const [beats, view] = await Promise.all([store.readBeats(region), store.readView(region)]);
  const addresses = new Map(view.members.map((member) => [member.incarnation, member.address]));
  return beats
    .filter(({ incarnation, count }) => before.get(incarnation) !== count)
    .map(({ incarnation }) => {
      const address = addresses.get(incarnation);
      return address === undefined ? incarnation : `${address} (${incarnation})`;
    })
    .sort();
}
