// The pushes that stall on this node, for its operators: one line of the log each time that a push is reported, a number in the
// metrics, and a list.
//   S1. A push is reported when it stalls and every ten minutes while it does, so what was not reported for longer is over,
//       or lives on another node by now.

import type { StalledPush, StallWatch } from "../actors/push/ports.ts";
import type { LogEntry } from "../actors/system/ports.ts";
import type { Clock } from "../crypto/port.ts";
import { BoundedMap } from "../std/bounded-map.ts";

/** Two and a half times the interval between two reports. */
const knownForMs = 1_500_000;
const pushesMax = 1_000;

export interface StalledPushes extends StallWatch {
  /** The pushes that stall, those that stall longest first. */
  list(): readonly StalledPush[];
}

export function createStalledPushes(options: {
  readonly clock: Clock;
  readonly log: (entry: LogEntry) => void;
}): StalledPushes {
  const { clock, log } = options;
  const known = new BoundedMap<string, { readonly push: StalledPush; readonly untilMs: number }>(pushesMax);
  let ids: readonly string[] = [];
  return {
    note: (push) => {
      const { push_id, business_uuid, settled, records, since, regions } = push;
      known.set(push_id, { push, untilMs: clock.now() + knownForMs });
      ids = [...new Set([...ids, push_id])].filter((id) => known.has(id));
      const where = regions.length > 0 ? `, not confirmed by ${regions.join(", ")}` : "";
      const detail = `${settled} of ${records} records settled, no step since ${since}${where}`;
      log({ level: "warn", event: "push.stalled", actor: `push/${business_uuid}.${push_id}`, detail });
    },
    forget: (pushId) => {
      if (!known.delete(pushId)) return;
      ids = ids.filter((id) => id !== pushId);
    },
    list: () => {
      const nowMs = clock.now();
      return ids
        .flatMap((id) => known.get(id) ?? [])
        .filter(({ untilMs }) => untilMs > nowMs)
        .map(({ push }) => push)
        .sort((a, b) => (a.since < b.since ? -1 : 1));
    },
  };
}
