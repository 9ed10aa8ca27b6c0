// One domain of a business, and what a look at it makes of it. Pure.
//   V1. A domain is `confirmed` from the first look that finds its challenge. No other status comes from anything but looks.
//   V2. A confirmed domain is `suspended` when looks that were answered have not found the challenge for the whole of the grace,
//       or when no look of whatever kind has found it for ten times as long: what keeps the service from looking is no loss at
//       once, and no excuse for ever.
//   V3. A domain that was never confirmed is never suspended: nothing was lost.
//   V4. One look that finds the challenge confirms a suspended domain.
//   V5. A look changes nothing if a later one has been noted.

import { formatTimestamp } from "../../protocol/identifiers.ts";
import type {
  DomainFacts,
  DomainStatus,
  ProbedDomain,
  ProbeSchedule,
  WatchedDomain,
} from "../messages/domains.ts";

/** How much longer unanswered looks may go on (V2). */
const unansweredTimes = 10;
/** Looks in one interval while a domain has just been named, or was lost, or is about to be. */
const retriesPerInterval = 24;
const retryMsMin = 1_000;

export interface DomainRow {
  /** How many served business files name it; 0 if it is kept for what is known of it. */
  readonly files: number;
  readonly status: DomainStatus;
  readonly since_ms: number;
  readonly confirmed_at_ms: number | null;
  /** When looks began to find nothing, for whatever reason, since the last confirmation. */
  readonly failing_since_ms: number | null;
  /** When an answered look found nothing first, since the last confirmation. */
  readonly absent_since_ms: number | null;
  readonly next_at_ms: number;
  readonly probed: Omit<ProbedDomain, "domain"> | null;
}

/** A domain that was just named for the first time. */
export function newDomain(nowMs: number): DomainRow {
  const never = { confirmed_at_ms: null, failing_since_ms: null, absent_since_ms: null, probed: null };
  return { files: 0, status: "unconfirmed", since_ms: nowMs, next_at_ms: nowMs, ...never };
}

export function afterProbe(
  row: DomainRow,
  { domain: _domain, ...probed }: ProbedDomain,
  schedule: ProbeSchedule,
): DomainRow {
  const { at_ms: atMs, outcome } = probed;
  if (row.probed !== null && row.probed.at_ms >= atMs) return row;
  if (outcome === "confirmed") {
    return {
      ...{ files: row.files, status: "confirmed", probed, confirmed_at_ms: atMs },
      since_ms: row.status === "confirmed" ? row.since_ms : atMs,
      ...{ failing_since_ms: null, absent_since_ms: null, next_at_ms: atMs + schedule.interval_ms },
    };
  }
  const failing = row.failing_since_ms ?? atMs;
  const absent = row.absent_since_ms ?? (outcome === "absent" ? atMs : null);
  const isLost =
    row.status === "confirmed" &&
    ((outcome === "absent" && absent !== null && atMs - absent >= schedule.grace_ms) ||
      atMs - failing >= unansweredTimes * schedule.grace_ms);
  const since = isLost ? atMs : row.since_ms;
  const isRecent = atMs - Math.max(since, failing) < schedule.grace_ms;
  return {
    ...row,
    ...{ status: isLost ? "suspended" : row.status, since_ms: since, probed },
    ...{ failing_since_ms: failing, absent_since_ms: absent },
    next_at_ms: atMs + (isRecent ? retryMs(schedule) : schedule.interval_ms),
  };
}

function retryMs({ interval_ms }: ProbeSchedule): number {
  return Math.min(interval_ms, Math.max(retryMsMin, Math.ceil(interval_ms / retriesPerInterval)));
}

export function domainFacts(domain: string, row: DomainRow): DomainFacts {
  const { status, since_ms, confirmed_at_ms } = row;
  const confirmed_at = confirmed_at_ms === null ? null : formatTimestamp(confirmed_at_ms);
  return { domain, status, since: formatTimestamp(since_ms), confirmed_at };
}

export function watchedDomain(domain: string, row: DomainRow): WatchedDomain {
  const { probed, next_at_ms } = row;
  return {
    ...domainFacts(domain, row),
    probed:
      probed === null
        ? null
        : { at: formatTimestamp(probed.at_ms), outcome: probed.outcome, detail: probed.detail },
    next_probe_at: formatTimestamp(next_at_ms),
  };
}
