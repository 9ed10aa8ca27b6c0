// How far a node's wall clock is from the store's, as far as a question and its answer can show it.

import type { Clock } from "../crypto/port.ts";
import type { ClusterStore } from "../storage/cluster-store.ts";
import type { Monotonic } from "./poller.ts";

/** In milliseconds, never negative. The answer may have spent any part of the time between question and answer on its way. */
export async function clockOffsetMs({
  store,
  clock,
  monotonic,
}: {
  readonly store: Pick<ClusterStore, "storeTimeMs">;
  readonly clock: Clock;
  readonly monotonic: Monotonic;
}): Promise<number> {
  const [askedMs, beganMs] = [clock.now(), monotonic.nowMs()];
  const storeMs = await store.storeTimeMs();
  const tookMs = monotonic.nowMs() - beganMs;
  return Math.max(askedMs - storeMs, storeMs - (askedMs + tookMs), 0);
}
