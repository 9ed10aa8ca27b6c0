// The pushes that stall on this node, for its operators: one line of the log each time that a push is reported, a number in the
// metrics, and a list.
//   S1. A push is reported when it stalls and every ten minutes while it does (O1 in reported.ts).

import type { StalledPush, StallWatch } from "../actors/push/ports.ts";
import type { LogEntry } from "../actors/system/ports.ts";
import type { Clock } from "../crypto/port.ts";
import { createReported } from "./reported.ts";

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
  const reported = createReported<StalledPush>({ clock, knownForMs, subjectsMax: pushesMax });
  return {
    note: (push) => {
      const { push_id, business_uuid, settled, records, since, regions } = push;
      reported.note(push_id, push);
      const where = regions.length > 0 ? `, not confirmed by ${regions.join(", ")}` : "";
      const detail = `${settled} of ${records} records settled, no step since ${since}${where}`;
      log({ level: "warn", event: "push.stalled", actor: `push/${business_uuid}.${push_id}`, detail });
    },
    forget: (pushId) => reported.forget(pushId),
    list: () => [...reported.list()].sort((a, b) => (a.since < b.since ? -1 : 1)),
  };
}
