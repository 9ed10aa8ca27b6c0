// The pushes of a business by time, and the batches that were refused, for 90 days.
//   T1. A push is listed by the commit that numbers it, once for each number. A push has one number, so a reader takes the
//       entry whose number the push itself knows, and no other.
//   T2. When the push is over, its entry says how its records ended. That changes nothing else.
//   T3. Refused batches are kept apart from pushes and bounded in number by the hour, so a flood of them displaces nothing.

import type { BusinessEvent } from "../../machines/business.ts";
import { attemptsKeptDays, refusalsPerHour } from "../../protocol/limits.ts";
import type { PartitionRow, RowSelection } from "../../storage/actor-store.ts";
import type {
  AttemptEntry,
  AttemptPlace,
  AttemptsReply,
  EndedCounts,
  KeepReply,
  RefusedBatch,
} from "../messages/admission.ts";
import type { BusinessProtocol } from "../messages/business.ts";
import type { CommandOf } from "../messages/protocol.ts";
import type { ActorView, Decision } from "../system/definition.ts";
import { defineJsonTable } from "../system/row-table.ts";

type Asked<T extends keyof BusinessProtocol> = CommandOf<BusinessProtocol, T>;

const attemptsKeptMs = attemptsKeptDays * 86_400_000;
/** Maximum number of attempts read at once. */
const entriesMax = 200;
const hourMs = 3_600_000;

/** A push without its time and id, which are the row's keys. */
interface KeptPush {
  readonly number: number;
  readonly records: number;
  readonly counts?: EndedCounts;
}

const pushes = defineJsonTable<KeptPush>("pushes by time", 60);
const refusals = defineJsonTable<RefusedBatch>("refused batches", 61);

/** The row of one push, by its keys: a push id is longer than anything that it begins with. */
export function selectListed(pushId: string, receivedAtMs: number | undefined): readonly RowSelection[] {
  if (receivedAtMs === undefined) return [];
  return [pushes.selectPage(1, { k: receivedAtMs, k2: pushId.slice(0, -1) })];
}

function listed({ at_ms, id }: AttemptPlace, view: ActorView): KeptPush | undefined {
  return pushes.readAll(view).find(({ k, k2 }) => k === at_ms && k2 === id)?.value;
}

function pushRow({ id, at_ms }: AttemptPlace, kept: KeptPush): PartitionRow {
  return pushes.write(id, kept, { k: at_ms, expiresAtMs: at_ms + attemptsKeptMs });
}

/**
 * The row of a push that is numbered now (T1). A push that is over may be numbered again by a request that began before: if it
 * was received in the same millisecond, it is listed already.
 */
export function listedRows(place: AttemptPlace, kept: KeptPush, view: ActorView): readonly PartitionRow[] {
  return listed(place, view) === undefined ? [pushRow(place, kept)] : [];
}

type Ended = Asked<"push.finished">["ended"];

/** The row of a push that is over (T2); nothing where it was never listed, or said so before. */
export function endedRows(pushId: string, ended: Ended, view: ActorView): readonly PartitionRow[] {
  const place = { at_ms: ended.received_at_ms, id: pushId };
  const known = listed(place, view);
  if (known?.number !== ended.number || known.counts !== undefined) return [];
  return [pushRow(place, { ...known, counts: ended.counts })];
}

/** The refusals of the last hour, of which so many are kept. */
export function selectRefusals({ refused }: Asked<"refusal.keep">): readonly RowSelection[] {
  return [refusals.selectPage(refusalsPerHour, { k: Math.max(0, refused.at_ms - hourMs), k2: "" })];
}

/** See T3. A refusal that is kept again is the same row. */
export function keepRefusal(
  { refused }: Asked<"refusal.keep">,
  view: ActorView,
): Decision<KeepReply, BusinessEvent> {
  if (refusals.readAll(view).length >= refusalsPerHour) return { reply: { status: "enough" } };
  const { at_ms, id } = refused;
  const row = refusals.write(id, refused, { k: at_ms, expiresAtMs: at_ms + attemptsKeptMs });
  return { reply: { status: "kept" }, puts: [row] };
}

/** The page of attempts, and of refusals, after a place. */
export function selectAttempts(command: Asked<"attempts.read">): readonly RowSelection[] {
  const limit = limitOf(command);
  const after = { k: command.after.at_ms, k2: command.after.id };
  return [pushes.selectPage(limit, after), refusals.selectPage(limit, after)];
}

/** A page of attempts and refusals together, oldest first. */
export function readAttempts(command: Asked<"attempts.read">, view: ActorView): AttemptsReply {
  const limit = limitOf(command);
  const [admitted, refused] = [pushes.readAll(view), refusals.readAll(view)];
  const entries: (AttemptPlace & { readonly entry: AttemptEntry })[] = [
    ...admitted.map(({ k, k2, value: { number, records, counts = null } }) => ({
      at_ms: k,
      id: k2,
      entry: { kind: "push", push: { at_ms: k, id: k2, number, records, counts } } as const,
    })),
    ...refused.map(({ k, k2, value }) => ({
      at_ms: k,
      id: k2,
      entry: { kind: "refused", refused: value } as const,
    })),
  ];
  const wanted = entries.filter(({ at_ms }) => at_ms < command.to_ms).sort(byPlace);
  const isCut = [admitted, refused].some(
    (rows) => rows.length === limit && isBefore(rows.at(-1)?.k, command),
  );
  return {
    entries: wanted.slice(0, limit).map(({ entry }) => entry),
    more: isCut || wanted.length > limit,
  };
}

function isBefore(k: number | undefined, { to_ms }: Asked<"attempts.read">): boolean {
  return k !== undefined && k < to_ms;
}

function byPlace(a: AttemptPlace, b: AttemptPlace): number {
  if (a.at_ms !== b.at_ms) return a.at_ms - b.at_ms;
  return a.id < b.id ? -1 : 1;
}

function limitOf({ limit }: Asked<"attempts.read">): number {
  return Math.min(Math.max(1, limit), entriesMax);
}
