// The businesses whose purges are due and not done on this node, for its operators: a line of the log, two numbers in the
// metrics, and a list.
//   U1. The work of a purge reports every minute at least while something is due (O1 in reported.ts).
//   U2. The log names a business when it is late, when the reason changes, and once an hour while nothing does.

import type { LatePurges, PurgeWatch } from "../actors/messages/removal.ts";
import type { LogEntry } from "../actors/system/ports.ts";
import type { Clock } from "../crypto/port.ts";
import type { Reading } from "../ops/metrics.ts";
import type { LatePurge } from "../ops/shapes.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { limitMs } from "../service/purges.ts";
import { createReported } from "./reported.ts";

/** Several times as long as the work of a purge needs to find out again that it is late. */
const knownForMs = 600_000;
const businessesMax = 1_000;
const saidAgainMs = 3_600_000;

export interface LatePurgeList extends PurgeWatch {
  /** The businesses with late purges, that of the oldest deletion first. */
  list(): readonly LatePurge[];
}

interface Late {
  readonly shown: LatePurge;
  readonly saidAtMs: number;
}

export function createLatePurges(options: {
  readonly clock: Clock;
  readonly log: (entry: LogEntry) => void;
}): LatePurgeList {
  const { clock, log } = options;
  const reported = createReported<Late>({ clock, knownForMs, subjectsMax: businessesMax });
  return {
    note: (late) => {
      const shown = shownOf(late);
      if (shown === null) return;
      const before = reported.get(late.business_uuid);
      const nowMs = clock.now();
      const isKnown = before?.shown.detail === shown.detail && nowMs - before.saidAtMs < saidAgainMs;
      reported.note(late.business_uuid, { shown, saidAtMs: isKnown ? before.saidAtMs : nowMs });
      if (isKnown) return;
      const { purges, oldest_deleted_at, detail } = shown;
      const said = `${purges} due, the oldest deletion is of ${oldest_deleted_at}: ${detail}`;
      log({ level: "warn", event: "purge.late", actor: `business/${late.business_uuid}`, detail: said });
    },
    forget: (businessUuid) => reported.forget(businessUuid),
    list: () =>
      reported
        .list()
        .map(({ shown }) => shown)
        .sort((a, b) => (a.oldest_deleted_at < b.oldest_deleted_at ? -1 : 1)),
  };
}

function shownOf({
  purges,
  business_uuid,
  waits_for,
  regions,
  push_id,
  detail,
}: LatePurges): LatePurge | null {
  if (purges.length === 0) return null;
  const deletedMs = Math.min(...purges.map(({ deleted_at_ms }) => deleted_at_ms));
  return {
    ...{ business_uuid, purges: purges.length, waits_for, regions, push_id, detail },
    oldest_deleted_at: formatTimestamp(deletedMs),
    limit_at: formatTimestamp(deletedMs + limitMs),
  };
}

/** The readings for /metrics. */
export function latePurgeReadings(late: readonly LatePurge[], nowMs: number): readonly Reading[] {
  const [oldest] = late;
  const seconds = oldest === undefined ? 0 : (nowMs - Date.parse(oldest.oldest_deleted_at)) / 1_000;
  const gauge = (name: string, help: string, value: number): Reading => ({
    name,
    help,
    kind: "gauge",
    value,
  });
  return [
    gauge(
      "svc_purges_late",
      "Purges on this node that are due and not done.",
      late.reduce((sum, { purges }) => sum + purges, 0),
    ),
    gauge(
      "svc_purge_oldest_seconds",
      "Time since the oldest deletion on this node whose purge is due and not done; the limit is 2592000, which are 30 days.",
      seconds,
    ),
  ];
}
