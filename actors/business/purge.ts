// The purge of deleted records: what is due, and the proof of what is done.
//   Y1. A deletion owes the bytes of every version up to its own; it is due at a time that it states, and one durable timer of the
//       business ends when the first one is due. While purges are under way no timer runs, and the end of them sets the next.
//   Y2. A purge waits for the pushes that were numbered before its deletion: they may still be storing such a version.
//        However many wait, those that are ready are found behind them.
//   Y3. The proof of a purge stays as a row and as an event. Hashes, seals and documents stay as well.
//   Y4. Purges are removed in the order in which they are due, so a page of them begins where the first one was that was left.

import type { BusinessEvent, NextWork } from "../../machines/business.ts";
import type { PartitionRow, RowSelection } from "../../storage/actor-store.ts";
import type { BusinessProtocol } from "../messages/business.ts";
import type { CommandOf, DoneReply } from "../messages/protocol.ts";
import {
  appliedAt,
  type DuePurges,
  type Purge,
  type Purged,
  type Removal,
  type RemoveRecord,
} from "../messages/removal.ts";
import { type Decision, takenOf } from "../system/definition.ts";
import { admissions, purged, purges, selectAdmissions } from "./rows.ts";
import type { BusinessView } from "./view.ts";

/** Maximum number of purges of one round of work, and of a page of those that are due. */
export const purgesMax = 100;
/** How long a purge that must wait for a push is left alone. */
const waitMs = 60_000;

type Asked<T extends keyof BusinessProtocol> = CommandOf<BusinessProtocol, T>;
type Snapshot = BusinessView["snapshot"];

/** What a deletion adds to its decision. */
export function owePurge(
  {
    purge_at_ms: statedMs,
    action,
    ...moments
  }: Pick<RemoveRecord, "purge_at_ms" | "action"> & Pick<Removal, "received_at" | "applied_at">,
  deleted: Omit<Purge, "due_ms" | "deleted_at_ms">,
  view: BusinessView,
): { readonly puts: readonly PartitionRow[]; readonly timer?: NextWork } {
  if (action !== "delete" || statedMs === undefined) return { puts: [] };
  // Of those that were due before now, all may be done and removed (Y4).
  const dueMs = Math.max(statedMs, view.nowMs);
  const deletedAtMs = Date.parse(appliedAt(moments));
  const owed = { ...deleted, due_ms: dueMs, deleted_at_ms: deletedAtMs };
  const puts = [purges.write(deleted.document_hash, owed, { k: dueMs })];
  const setFor = view.snapshot.context.purgeAtMs ?? null;
  if (setFor !== null && setFor <= dueMs) return { puts };
  return { puts, timer: timerFor(dueMs, view) };
}

function timerFor(atMs: number, { nowMs }: BusinessView): NextWork {
  return { at_ms: atMs, in_ms: Math.max(1, atMs - nowMs) };
}

export function selectDue({ after }: Asked<"purges.due">, snapshot: Snapshot): readonly RowSelection[] {
  const page = after === null ? selectOwed(purgesMax, snapshot) : purges.selectPage(purgesMax, after);
  return [page, selectAdmissions(snapshot)];
}

/** See Y4. */
function selectOwed(limit: number, { context }: Snapshot): RowSelection {
  return purges.selectPage(limit, { k: context.purgesFromMs, k2: "" });
}

export function duePurges(_command: Asked<"purges.due">, view: BusinessView): DuePurges {
  const oldest = oldestPending(view);
  const page = purges.readAll(view);
  const due = page.filter(({ k }) => k <= view.nowMs);
  const those = (isReady: boolean): readonly Purge[] =>
    due.filter(({ value }) => value.number < oldest.number === isReady).map(({ value }) => value);
  const waiting = those(false);
  const last = due.length === purgesMax ? due.at(-1) : undefined;
  return {
    purges: those(true),
    waiting,
    push_id: waiting.length === 0 ? null : oldest.push_id,
    next: last === undefined ? null : { k: last.k, k2: last.k2 },
  };
}

/** The push that is pending longest (Y2). */
function oldestPending(view: BusinessView): { readonly push_id: string | null; readonly number: number } {
  const pending = view.snapshot.context.pending.map((push_id) => {
    return { push_id, number: admissions.read(view, push_id)?.number ?? 0 };
  });
  const none = { push_id: null, number: Number.POSITIVE_INFINITY };
  return pending.reduce<ReturnType<typeof oldestPending>>(
    (oldest, each) => (each.number < oldest.number ? each : oldest),
    none,
  );
}

export function selectDone(
  { purged: done }: Asked<"purges.done">,
  snapshot: Snapshot,
): readonly RowSelection[] {
  // One more than were done: the first of those that are owed from then on.
  return [
    purges.select(done.map(({ document_hash }) => document_hash)),
    selectOwed(done.length + 1, snapshot),
  ];
}

export function finishPurges(
  { purged: told }: Asked<"purges.done">,
  view: BusinessView,
): Decision<DoneReply, BusinessEvent> {
  const owed = purges.readAll(view);
  const isOwed = (each: Purged): boolean => owed.some(({ k2 }) => k2 === each.document_hash);
  const done = told.filter(isOwed);
  const hashes = new Set(done.map(({ document_hash }) => document_hash));
  const next = owed.find(({ k2 }) => !hashes.has(k2));
  // One that is due and was not done waits for a push.
  const atMs = next === undefined ? null : Math.max(next.k, done.length === 0 ? view.nowMs + waitMs : 0);
  const timer = atMs === null ? null : timerFor(atMs, view);
  const from_ms = next?.k ?? view.nowMs;
  const events = takenOf(view, { type: "records.purged", purged: done, from_ms, timer });
  if (events.length === 0) return { reply: { status: "done" } };
  return {
    reply: { status: "done" },
    events,
    puts: done.map((each) => purged.write(each.document_hash, each)),
    deletes: done.map(({ document_hash, due_ms }) => purges.key(document_hash, due_ms)),
  };
}
