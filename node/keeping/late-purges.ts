// The businesses whose purges are due and not done on this node, for its operators: a line of the log, two numbers in the
// metrics, and a list.
// Also the pushes that stall, and how such reports are kept.
//   U1. The work of a purge reports every minute at least while something is due (O1).
//   U2. The log names a business when it is late, when the reason changes, and once an hour while nothing does.

import type { LatePurges, PurgeWatch } from "../../actors/messages/removal.ts";
import type { StalledPush, StallWatch } from "../../actors/push/ports.ts";
import type { LogEntry } from "../../actors/system/ports.ts";
import type { Clock } from "../../crypto/port.ts";
import { gauge, type Reading } from "../../ops/metrics.ts";
import type { LatePurge } from "../../ops/shapes.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { limitMs } from "../../service/publishing/purges.ts";
import { BoundedMap } from "../../std/bounded-map.ts";

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
    business_uuid,
    purges: purges.length,
    waits_for,
    regions,
    push_id,
    detail,
    oldest_deleted_at: formatTimestamp(deletedMs),
    limit_at: formatTimestamp(deletedMs + limitMs),
  };
}

/** The readings for /metrics. */
export function latePurgeReadings(late: readonly LatePurge[], nowMs: number): readonly Reading[] {
  const [oldest] = late;
  const seconds = oldest === undefined ? 0 : (nowMs - Date.parse(oldest.oldest_deleted_at)) / 1_000;
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

// What this node's actors report again and again while it lasts, for the node's operators: the newest report of each subject.
//   O1. A subject that was not reported for some time is over, or is reported on another node by now.
//   O2. At most a fixed number of subjects are kept; those that were reported last stay.

export interface Reported<T> {
  note(id: string, report: T): void;
  forget(id: string): void;
  get(id: string): T | undefined;
  list(): readonly T[];
}

function createReported<T>(options: {
  readonly clock: Clock;
  /** For how long a report counts (O1). */
  readonly knownForMs: number;
  readonly subjectsMax: number;
}): Reported<T> {
  const { clock, knownForMs, subjectsMax } = options;
  const known = new BoundedMap<string, { readonly report: T; readonly untilMs: number }>(subjectsMax);
  let ids: readonly string[] = [];
  const current = (id: string) => {
    const found = known.get(id);
    return found !== undefined && found.untilMs > clock.now() ? [found.report] : [];
  };
  return {
    note: (id, report) => {
      const isNew = current(id).length === 0;
      known.set(id, { report, untilMs: clock.now() + knownForMs });
      if (isNew) ids = [...new Set([...ids, id])].filter((each) => known.has(each));
    },
    forget: (id) => {
      if (known.delete(id)) ids = ids.filter((each) => each !== id);
    },
    get: (id) => current(id)[0],
    list: () => ids.flatMap(current),
  };
}

// The pushes that stall on this node, for its operators: one line of the log each time that a push is reported, a number in the
// metrics, and a list.
//   S1. A push is reported when it stalls and every ten minutes while it does (O1).

/** Two and a half times the interval between two reports. */
const stallKnownForMs = 1_500_000;
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
  const reported = createReported<StalledPush>({
    clock,
    knownForMs: stallKnownForMs,
    subjectsMax: pushesMax,
  });
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
