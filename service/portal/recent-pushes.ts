// The newest pushes of a business as its people see them: how far each is, and what was wrong, by its cause.
//   RP1. However many pushes there are, a bounded number of entries and pushes is read.
//   RP2. Entries are read from the oldest on, so they are read by windows, the newest first: what does not fit is the oldest.

import type { AdmittedPush, AttemptEntry, RefusedBatch } from "../../actors/messages/admission.ts";
import { memberRoles } from "../../actors/messages/members.ts";
import type { PushReport } from "../../actors/messages/push.ts";
import { businessRef, pushRef } from "../../actors/messages/refs.ts";
import { type CollectionName, formatTimestamp } from "../../protocol/identifiers.ts";
import { attemptsKeptDays } from "../../protocol/limits.ts";
import { ok, type Result } from "../../protocol/result.ts";
import type { AttemptsPage, PushAttempt } from "../../protocol/wire/catalogue.ts";
import type { PushCounts } from "../../protocol/wire/push.ts";
import { type FaultGroup, type GroupedFault, groupFaults } from "../../std/fault-groups.ts";
import { bodyText, isRefused } from "../answer.ts";
import type { OwnListServices } from "../publishing/catalogue.ts";
import { readPushAttempts } from "../publishing/push-attempts.ts";
import type { Owner, OwnerRefusal } from "./owner.ts";
import type { SignedIn } from "./people.ts";

export interface RecentPushesDeps extends OwnListServices {
  readonly owner: Pick<Owner, "may">;
  /** What is to be done about a code; null where nothing is said. */
  readonly remedyOf: (code: string) => string | null;
}

/** What is wrong, how to mend it, and where. */
export interface ShownCause<P> extends FaultGroup<P> {
  readonly remedy: string | null;
  /** Of records and refused batches; the first of them are the places. */
  readonly count: number;
}

export interface RecentPush {
  readonly push_id: string;
  readonly received_at: string;
  readonly type: CollectionName;
  readonly state: PushReport["state"];
  readonly records: number;
  readonly settled: number;
  readonly counts: PushCounts;
  readonly error: { readonly code: string; readonly detail: string } | null;
}

/** A batch that was refused as a whole. */
export interface ShownRefusal
  extends Pick<
    RefusedBatch,
    "id" | "code" | "reason" | "detail" | "type" | "key_id" | "records" | "push_id"
  > {
  readonly received_at: string;
  readonly remedy: string | null;
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
  readonly causes: readonly ShownCause<FaultPlace>[];
  /** Newest first, as old as the oldest of the pushes at most. */
  readonly refused: readonly ShownRefusal[];
}

const pushesShown = 20;
const refusedShown = 20;
const causesShown = 20;
const placesShown = 8;
const pagesMax = 5;
const entriesPerPage = 200;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** How far back each window goes; it ends where the one before begins. */
const windowsMs = [
  minuteMs / 6,
  minuteMs,
  10 * minuteMs,
  hourMs,
  6 * hourMs,
  24 * hourMs,
  attemptsKeptDays * 24 * hourMs,
];

/**
 * The newest pushes and refused attempts, and the causes of their faults (RP1), for somebody with a role in the business. Throws
 * {@link StoreError}.
 */
export async function recentPushes(
  deps: RecentPushesDeps,
  who: SignedIn,
  uuid: string,
): Promise<Result<RecentPushes, OwnerRefusal>> {
  const allowed = await deps.owner.may(who, uuid, memberRoles);
  if (!allowed.ok) return allowed;
  const { sinceMs, admitted, refused } = await newest(deps, uuid);
  const status = { type: "push.status", outcome: null, from_leaf: 0, limit: 0 } as const;
  const reports = await Promise.all(admitted.map(({ id }) => deps.actors.ask(pushRef(uuid, id), status)));
  const pushes = reports.flatMap((report) => (report === null ? [] : [shownPush(report)])).toReversed();
  const rejected = await rejectedSince(deps, uuid, sinceMs);
  return ok({
    pushes,
    causes: causesOf(
      deps,
      rejected.map((each) => ({ place: placeOf(each), errors: each.errors })),
      ({ own_id, push_id, received_at }) => `${own_id} ${push_id} ${received_at}`,
    ),
    refused: refused.map((each) => shownRefusal(deps, each)).toReversed(),
  });
}

/** The causes of faults, the most frequent first; `keyOf` says which places are the same. */
export function causesOf<P>(
  { remedyOf }: Pick<RecentPushesDeps, "remedyOf">,
  faults: readonly { readonly place: P; readonly errors: readonly GroupedFault[] }[],
  keyOf: (place: P) => string | number,
): readonly ShownCause<P>[] {
  return groupFaults(faults)
    .slice(0, causesShown)
    .map(({ places, ...cause }) => {
      const distinct = [...new Map(places.map((place) => [keyOf(place), place])).values()];
      return {
        ...cause,
        remedy: remedyOf(cause.code),
        count: distinct.length,
        places: distinct.slice(0, placesShown),
      };
    });
}

function shownRefusal(
  { remedyOf }: Pick<RecentPushesDeps, "remedyOf">,
  { at_ms, id, code, reason, detail, type, key_id, records, push_id }: RefusedBatch,
): ShownRefusal {
  const received_at = formatTimestamp(at_ms);
  return { id, code, reason, detail, type, key_id, records, push_id, received_at, remedy: remedyOf(code) };
}

/** A part of the time, without its end. */
interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

interface Read<T> {
  /** Oldest first. */
  readonly found: readonly T[];
  /** Whether the window was read to its end. */
  readonly isWhole: boolean;
}

/** Reads windows back to `sinceMs` until there are enough (RP2). One that was not read to its end counts only where nothing newer is. */
async function readWindows<T>(
  { nowMs, sinceMs, enough }: { readonly nowMs: number; readonly sinceMs: number; readonly enough: number },
  read: (window: Window) => Promise<Read<T>>,
): Promise<readonly T[]> {
  let all: readonly T[] = [];
  let toMs = Number.MAX_SAFE_INTEGER;
  for (const windowMs of windowsMs) {
    const fromMs = Math.max(nowMs - windowMs, sinceMs);
    const { found, isWhole } = await read({ fromMs, toMs });
    if (isWhole || all.length === 0) all = [...found, ...all];
    if (!isWhole || all.length >= enough || fromMs === sinceMs) break;
    toMs = fromMs;
  }
  return all;
}

interface Newest {
  /** Since when the refused batches and the faults are shown. */
  readonly sinceMs: number;
  /** Oldest first, as those that were refused. */
  readonly admitted: readonly AdmittedPush[];
  readonly refused: readonly RefusedBatch[];
}

/** The newest admitted pushes, and what was refused since. */
async function newest({ actors, clock }: RecentPushesDeps, uuid: string): Promise<Newest> {
  const nowMs = clock.now();
  const keptMs = nowMs - attemptsKeptDays * 24 * hourMs;
  // In the windows that are read for pushes.
  let refused: readonly RefusedBatch[] = [];
  const read = async ({ fromMs, toMs: to_ms }: Window): Promise<Read<AdmittedPush>> => {
    let after = { at_ms: fromMs, id: "" };
    const entries: AttemptEntry[] = [];
    const readSoFar = (isWhole: boolean): Read<AdmittedPush> => {
      const found = entries.flatMap((entry) => (entry.kind === "refused" ? [entry.refused] : []));
      if (isWhole || refused.length === 0) refused = [...found, ...refused].slice(-refusedShown);
      return { found: entries.flatMap((entry) => (entry.kind === "push" ? [entry.push] : [])), isWhole };
    };
    for (let page = 0; page < pagesMax; page += 1) {
      const question = { after, to_ms, limit: entriesPerPage };
      const answer = await actors.ask(businessRef(uuid), { type: "attempts.read", ...question });
      entries.push(...answer.entries);
      const last = answer.entries.at(-1);
      if (!answer.more || last === undefined) return readSoFar(true);
      const { at_ms, id } = last.kind === "push" ? last.push : last.refused;
      after = { at_ms, id };
    }
    return readSoFar(false);
  };
  const found = await readWindows({ nowMs, sinceMs: keptMs, enough: pushesShown }, read);
  const admitted = found.slice(-pushesShown);
  const [oldest] = admitted;
  const sinceMs = admitted.length === pushesShown && oldest !== undefined ? oldest.at_ms : keptMs;
  return { sinceMs, admitted, refused: refused.filter(({ at_ms }) => at_ms >= sinceMs) };
}

function rejectedSince(
  deps: RecentPushesDeps,
  uuid: string,
  sinceMs: number,
): Promise<readonly PushAttempt[]> {
  const read = async ({ fromMs, toMs }: Window): Promise<Read<PushAttempt>> => {
    const found: PushAttempt[] = [];
    const from = formatTimestamp(fromMs);
    const to = toMs === Number.MAX_SAFE_INTEGER ? null : formatTimestamp(toMs);
    let cursor: string | null = null;
    for (let page = 0; page < pagesMax; page += 1) {
      const caller = { party: { uuid } };
      const answer = await readPushAttempts(deps, { caller, from, to, status: "rejected", cursor });
      if (isRefused(answer)) return { found, isWhole: false };
      const { attempts, next_cursor } = JSON.parse(bodyText(answer.body)) as AttemptsPage;
      found.push(...attempts);
      cursor = next_cursor;
      if (cursor === null) return { found, isWhole: true };
    }
    return { found, isWhole: false };
  };
  return readWindows({ nowMs: deps.clock.now(), sinceMs, enough: Number.POSITIVE_INFINITY }, read);
}

function placeOf({ business_product_id: own_id, push_id, received_at }: PushAttempt): FaultPlace {
  return { own_id, push_id, received_at };
}

/** A push as its people see it in a list, of what its actor reports. */
export function shownPush({ facts, state, settled, counts, error }: PushReport): RecentPush {
  const { push_id, received_at, collection: type, records } = facts;
  return { push_id, received_at, type, state, records, settled, counts, error };
}
