// Waits until every node of a region acts by a move or a standing that was written before the call.
//   F1. A new version of the view is written after that move or standing; a member whose heartbeat carries that version has
//       read moves and standings since, and finished what followed from them (cluster-view.ts O2).
//   F2. A member that does not report this is waited for as long as it is in the view: it either follows, or is removed.
//   F3. Nobody waits for the others' next poll: they are told to look at once. A member that is not reached finds out on its
//       own. This node reads their heartbeats once those that were reached have looked, and then at growing intervals: on a
//       machine that is short of CPU time every read would take some from the nodes that are awaited.

import type { TimerPort } from "../actors/system/ports.ts";
import type { ClusterStore } from "../storage/cluster-store.ts";
import type { Monotonic } from "./poller.ts";
import { raiseVersion } from "./view-change.ts";

export interface ViewBarrierOptions {
  readonly store: ClusterStore;
  readonly monotonic: Monotonic;
  readonly timers: TimerPort;
  /** The node's own region: no node writes the view of another one. */
  readonly region: string;
  readonly patienceMs: number;
  /** Tells the nodes of the region, including this one, to look; resolves when those that were reached have. Never rejects. */
  readonly announce: () => Promise<void>;
}

/** Initial and maximum interval between two reads of the members' heartbeats. */
const lookMs = 50;
const lookMaxMs = 400;

/** Returns false if some member neither followed nor left in time. Throws the store's error. */
export async function awaitVersion(options: ViewBarrierOptions): Promise<boolean> {
  const { store, monotonic, timers, region, patienceMs, announce } = options;
  const lateMs = monotonic.nowMs() + patienceMs;
  const version = await raiseVersion(store, region);
  let pauseMs = lookMs;
  let isTold = false;
  const told = announce().then(() => {
    isTold = true;
    pauseMs = lookMs;
  });
  for (;;) {
    const pause = new Promise<void>((resolve) => void timers.schedule(pauseMs, resolve));
    pauseMs = Math.min(2 * pauseMs, lookMaxMs);
    await (isTold ? pause : Promise.race([pause, told]));
    const [view, beats] = await Promise.all([store.readView(region), store.readBeats(region)]);
    const seen = new Map(beats.map((beat) => [beat.incarnation, beat.homes_seen]));
    if (view.members.every((member) => (seen.get(member.incarnation) ?? 0) >= version)) return true;
    if (monotonic.nowMs() >= lateMs) return false;
  }
}
