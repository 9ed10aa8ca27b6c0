// The newest pushes of a business as its people see them: how far each is, and what was wrong, by its cause.
//   RP1. However many pushes there are, a bounded number of entries and pushes is read.

import type { AdmittedPush } from "../../actors/messages/admission.ts";
import type { PushReport } from "../../actors/messages/push.ts";
import { businessRef, pushRef } from "../../actors/messages/refs.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { attemptsKeptDays } from "../../protocol/limits.ts";
import { ok, type Result } from "../../protocol/result.ts";
import type { AttemptsPage, PushAttempt } from "../../protocol/wire/catalogue.ts";
import type { PushCounts } from "../../protocol/wire/push.ts";
import { type FaultGroup, groupFaults } from "../../std/fault-groups.ts";
import { bodyText, isRefused } from "../answer.ts";
import type { OwnListServices } from "../publishing/catalogue.ts";
import { readPushAttempts } from "../publishing/push-attempts.ts";
import type { Owner, OwnerRefusal } from "./owner.ts";
import type { SignedIn } from "./people.ts";
import { everyRole } from "./publishing.ts";

export interface RecentPushesDeps extends OwnListServices {
  readonly owner: Pick<Owner, "may">;
}

export interface RecentPush {
  readonly push_id: string;
  readonly received_at: string;
  readonly type: string;
  readonly state: PushReport["state"];
  readonly records: number;
  readonly settled: number;
  readonly counts: PushCounts;
  readonly error: { readonly code: string; readonly detail: string } | null;
}

/** A record that was rejected, or a batch that was refused. */
export interface FaultPlace {
  /** The business's own id of the record; null for a batch, and where it cannot be read. */
  readonly own_id: string | null;
  readonly push_id: string | null;
  readonly received_at: string;
}

export interface RecentPushes {
  /** Newest first. */
  readonly pushes: readonly RecentPush[];
  /** The most frequent first, each with its first places. */
  readonly causes: readonly (FaultGroup<FaultPlace> & { readonly count: number })[];
}

const pushesShown = 20;
const causesShown = 20;
const placesShown = 8;
const pagesMax = 5;
const entriesPerPage = 200;
const minuteMs = 60_000;
/** How far back is looked: in the first of these in which there is enough. */
const windowsMs = [10 * minuteMs, 1_440 * minuteMs, attemptsKeptDays * 1_440 * minuteMs];

export async function recentPushes(
  deps: RecentPushesDeps,
  who: SignedIn,
  uuid: string,
): Promise<Result<RecentPushes, OwnerRefusal>> {
  const allowed = await deps.owner.may(who, uuid, everyRole);
  if (!allowed.ok) return allowed;
  const { sinceMs, admitted } = await newest(deps, uuid);
  const status = { type: "push.status", outcome: null, from_leaf: 0, limit: 0 } as const;
  const reports = await Promise.all(admitted.map(({ id }) => deps.actors.ask(pushRef(uuid, id), status)));
  const pushes = reports.flatMap((report) => (report === null ? [] : [shownPush(report)])).toReversed();
  const rejected = await rejectedSince(deps, uuid, sinceMs);
  const causes = groupFaults(rejected.map((each) => ({ place: placeOf(each), errors: each.errors })));
  return ok({
    pushes,
    causes: causes.slice(0, causesShown).map(({ places, ...cause }) => ({
      ...cause,
      count: places.length,
      places: places.slice(0, placesShown),
    })),
  });
}

/** The newest admitted pushes, oldest first, and since when they and the refused batches are shown. */
async function newest(
  { actors, clock }: RecentPushesDeps,
  uuid: string,
): Promise<{ readonly sinceMs: number; readonly admitted: readonly AdmittedPush[] }> {
  const nowMs = clock.now();
  let found: readonly AdmittedPush[] = [];
  let sinceMs = nowMs;
  for (const windowMs of windowsMs) {
    sinceMs = nowMs - windowMs;
    let after = { at_ms: sinceMs, id: "" };
    const admitted: AdmittedPush[] = [];
    for (let page = 0; page < pagesMax; page += 1) {
      const question = { after, to_ms: Number.MAX_SAFE_INTEGER, limit: entriesPerPage };
      const { entries, more } = await actors.ask(businessRef(uuid), { type: "attempts.read", ...question });
      admitted.push(...entries.flatMap((entry) => (entry.kind === "push" ? [entry.push] : [])));
      const last = entries.at(-1);
      if (!more || last === undefined) break;
      const { at_ms, id } = last.kind === "push" ? last.push : last.refused;
      after = { at_ms, id };
    }
    found = admitted.slice(-pushesShown);
    if (found.length === pushesShown) break;
  }
  const [oldest] = found;
  return {
    sinceMs: found.length === pushesShown && oldest !== undefined ? oldest.at_ms : sinceMs,
    admitted: found,
  };
}

async function rejectedSince(
  deps: RecentPushesDeps,
  uuid: string,
  sinceMs: number,
): Promise<readonly PushAttempt[]> {
  const rejected: PushAttempt[] = [];
  const from = formatTimestamp(sinceMs);
  let cursor: string | null = null;
  for (let page = 0; page < pagesMax; page += 1) {
    const caller = { party: { uuid } };
    const answer = await readPushAttempts(deps, { caller, from, to: null, status: "rejected", cursor });
    if (isRefused(answer)) return rejected;
    const { attempts, next_cursor } = JSON.parse(bodyText(answer.body)) as AttemptsPage;
    rejected.push(...attempts);
    cursor = next_cursor;
    if (cursor === null) break;
  }
  return rejected;
}

function placeOf({ business_product_id: own_id, push_id, received_at }: PushAttempt): FaultPlace {
  return { own_id, push_id, received_at };
}

function shownPush({ facts, state, settled, counts, error }: PushReport): RecentPush {
  const { push_id, received_at, collection: type, records } = facts;
  return { push_id, received_at, type, state, records, settled, counts, error };
}
