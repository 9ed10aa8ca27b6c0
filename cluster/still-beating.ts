// Lists the nodes of a region that show signs of life, for an operator who is about to declare the region dead.
//   S1. A heartbeat whose count changes while it is watched is a sign of life, whatever its age: heartbeats of another region
//       arrive late. The absence of such a sign proves nothing: heartbeats of a region that is cut off cannot be seen.

import type { TimerPort } from "../actors/system/ports.ts";
import type { ClusterStore } from "../storage/cluster-store.ts";

export interface BeatingOptions {
  readonly store: Pick<ClusterStore, "readBeats" | "readView">;
  readonly timers: TimerPort;
}

/**
 * Returns `address (incarnation)` of each after `watchMs`, or only the incarnation if the region's view does not contain
 * it.
 */
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
