// Withdrawal and deletion: the record leaves serving, and no push numbered before brings it back. The removal of a record that
// is already out of serving is numbered as well, because a pending push may be about to bring the record back.
//   X1. A document is applied once, however often and however late it is sent: it never touches a version published since.
//   X2. A document and its seal are kept for as long as the business exists, whatever becomes of the record.
//   X3. After a revocation for compromise a deletion changes nothing before an operator has decided on it.
//   X4. A version that a deletion covers stays deleted, whatever is published, withdrawn or deleted after it.

import type { BusinessEvent } from "../../machines/business.ts";
import { formatTimestamp, recordIdPrefix } from "../../protocol/identifiers.ts";
import type { RowSelection } from "../../storage/actor-store.ts";
import type { BusinessProtocol } from "../messages/business.ts";
import type { CommandOf, RegisterReply } from "../messages/protocol.ts";
import {
  deletionOf,
  type HeldDeletion,
  type PurgeOrder,
  type Removal,
  type RemovalPlace,
  type RemoveRecord,
  type RemoveReply,
} from "../messages/removal.ts";
import type { Decision } from "../system/definition.ts";
import { owePurge } from "./purge.ts";
import {
  actRow,
  type BusinessView,
  countListings,
  type HeadRow,
  heads,
  heldDeletions,
  lastNumber,
  logSeal,
  purgeOrders,
  purgeOrdersByHash,
  removalOrder,
  removals,
} from "./rows.ts";
import { nameInFiles, selectNamed, unserved } from "./serving.ts";

/** Deletions that a head names; of a record that was deleted more often, a later one stands for those before. */
const deletionsMax = 4;
/** Maximum number of documents listed at once. */
const listedMax = 100;

/** The rows that a withdrawal or deletion reads: the head, what this document did before, and what its business file named. */
export function selectForRemoval(
  { record_id, document_hash }: Pick<RemoveRecord, "record_id" | "document_hash">,
  uuid: string,
): readonly RowSelection[] {
  const files = record_id.startsWith(recordIdPrefix("business_files")) ? [record_id] : [];
  return [
    heads.select([record_id]),
    removals.select([document_hash]),
    heldDeletions.select([document_hash]),
    ...selectNamed(files, uuid),
  ];
}

/**
 * Takes a record out of serving, and orders its purge if it is deleted; the same document is answered the same again.
 */
export function removeRecord(
  command: RemoveRecord,
  view: BusinessView,
): Decision<RemoveReply, BusinessEvent> {
  const head = heads.read(view, command.record_id);
  const known = removals.read(view, command.document_hash);
  if (known) return { reply: removed(known, head?.live ?? false) };
  if (!head) return { reply: { status: "unknown_record" } };
  const held = heldDeletions.read(view, command.document_hash);
  if (held)
    return { reply: held.decided === null ? { status: "held", live: head.live } : { status: "rejected" } };
  if (isTooEarly(command, head)) return { reply: { status: "not_later", sealed_at_ms: head.sealed_at_ms } };
  return command.action === "delete" && view.snapshot.matches({ standing: "revoked" })
    ? holdDeletion(command, head)
    : applyRemoval(command, head, view);
}

/** A document never touches a version that was sealed after it. */
function isTooEarly({ at }: Pick<RemoveRecord, "at">, head: HeadRow): boolean {
  return head.live && Date.parse(at) <= head.sealed_at_ms;
}

/** See X3; who decides is told by the state of the actor (machines/waits). */
function holdDeletion(
  { record_id, action, at, document_hash, sealed, purge_at_ms }: RemoveRecord,
  head: HeadRow,
): Decision<RemoveReply, BusinessEvent> {
  const due = purge_at_ms === undefined ? {} : { purge_at_ms };
  const held: HeldDeletion = { record_id, action, at, document_hash, sealed, ...due, decided: null };
  return {
    reply: { status: "held", live: head.live },
    events: [{ type: "deletion.held", document_hash }],
    puts: [heldDeletions.write(document_hash, held)],
  };
}

function applyRemoval(
  command: RemoveRecord,
  head: HeadRow,
  view: BusinessView,
  released?: Pick<Removal, "applied_at">,
): Decision<RemoveReply, BusinessEvent> {
  const { record_id, action, document_hash, sealed, purge_at_ms } = command;
  const due = purge_at_ms === undefined ? {} : { purge_at_ms };
  const { place, ...out } = takeOut({ ...command, ...sealed, ...released }, head, view);
  const kept: Removal = { record_id, action, document_hash, ...sealed, ...place, ...due, ...released };
  return {
    ...out,
    reply: removed(place, false),
    puts: [
      ...out.puts,
      removals.write(document_hash, kept),
      removalOrder.write(document_hash, document_hash, { k: place.number }),
    ],
    effects: sealed === undefined ? [] : [logSeal(sealed.seal, view)],
  };
}

type Leaving = Pick<RemoveRecord, "record_id" | "action" | "document_hash" | "purge_at_ms"> &
  Pick<Removal, "received_at" | "applied_at">;

/** The record leaves serving under a number and a change of its own; a deletion owes the purge of its versions. */
function takeOut(command: Leaving, head: HeadRow, view: BusinessView) {
  const { record_id, action, document_hash } = command;
  const { collection, generation, hash } = head;
  const change = lastNumber(view, head.change) + 1;
  const number = lastNumber(view, view.snapshot.context.number) + 1;
  const place = { collection, number, change, generation, hash };
  const { unserved: _wasOut, ...kept } = head;
  const out = { ...kept, live: false, change, number, removed_by: document_hash };
  const owed = owePurge(command, { record_id, document_hash, collection, generation, number }, view);
  const named = nameInFiles(new Map(collection === "business_files" ? [[record_id, unserved]] : []), view);
  const events: readonly BusinessEvent[] = [
    {
      type: "record.removed",
      record_id,
      ...place,
      listings: head.live ? -countListings(head.listings) : 0,
      live: head.live ? -1 : 0,
      ...(owed.timer === undefined ? {} : { timer: owed.timer }),
    },
    ...named.events,
  ];
  return {
    place,
    events,
    puts: [
      heads.write(record_id, action === "delete" ? withDeletion(out, document_hash) : out),
      ...owed.puts,
      ...named.puts,
    ],
    deletes: named.deletes,
  };
}

/** Of a version that is deleted already, the first deletion counts (X4). */
function withDeletion(head: HeadRow, documentHash: string): HeadRow {
  if (deletionOf(head, head.generation) !== undefined) return head;
  const deletions = [...(head.deletions ?? []), [head.generation, documentHash] as const];
  return { ...head, deletions: deletions.slice(-deletionsMax) };
}

function removed(
  { change, collection, generation, hash }: Pick<Removal, "change" | "collection" | "generation" | "hash">,
  live: boolean,
): RemoveReply {
  return { status: "removed", change, collection, generation, hash, live };
}

type ListCommand = CommandOf<BusinessProtocol, "removals.list">;

/** The places of the documents; their content is read by hash. */
export function selectRemovals({ after, limit }: ListCommand): readonly RowSelection[] {
  return [removalOrder.selectPage(Math.min(limit, listedMax), { k: after, k2: "\uffff" })];
}

/** The accepted removals after a number, oldest first. */
export function listRemovals({ after, limit }: ListCommand, view: BusinessView): readonly RemovalPlace[] {
  const places = removalOrder.readAll(view).filter(({ k }) => k > after);
  return places
    .slice(0, Math.min(limit, listedMax))
    .map(({ k, value }) => ({ number: k, document_hash: value }));
}

// Purges that the law orders: an operator has a record deleted and its bytes purged at once, without a document of the business.
//   PO1. An order concerns every version that there is of the record; it is kept with its ground for as long as the business exists, and has
//        its place in the order of withdrawals and deletions.
//   PO2. An order that is repeated changes nothing, unless the record was published again since.
//   PO3. What follows is what follows a deletion (Y1 to Y3 in purge.ts): hash, seal and leaf of each version stay.

/** The orders of a record, oldest first. */
export function ordersOf(view: BusinessView): readonly PurgeOrder[] {
  return purgeOrders.readAll(view).map(({ value }) => value);
}

/** Takes a record out of serving and has it purged at once, on a ground of the law (PO1). */
export function orderPurge(
  { record_id, ground, document_hash, act }: CommandOf<BusinessProtocol, "purge.order">,
  view: BusinessView,
): Decision<RegisterReply, BusinessEvent> {
  const head = heads.read(view, record_id);
  if (!head)
    return {
      reply: {
        status: "refused",
        code: "record_unknown",
        detail: "The business has no record with this id.",
      },
    };
  if (ordersOf(view).some(({ generation }) => generation >= head.generation))
    return { reply: { status: "done" } };
  const ordered_at = formatTimestamp(view.nowMs);
  const { collection, generation } = head;
  const out = takeOut(
    { record_id, document_hash, action: "delete", purge_at_ms: view.nowMs, received_at: ordered_at },
    head,
    view,
  );
  const { number } = out.place;
  const order: PurgeOrder = { record_id, collection, generation, document_hash, number, ground, ordered_at };
  const change = lastNumber(view, view.snapshot.context.change) + 1;
  const done = { act: "purge.order", entry: `record/${record_id}`, change };
  return {
    reply: { status: "done", changed: true },
    events: [{ type: "register.changed", keys: [], change, act }, ...out.events],
    puts: [
      ...out.puts,
      purgeOrders.write(record_id, order, { k: generation }),
      purgeOrdersByHash.write(document_hash, order),
      removalOrder.write(document_hash, document_hash, { k: number }),
      actRow(act, done, view.nowMs),
    ],
    deletes: out.deletes,
  };
}

// Deletions that wait for an operator: a thief of the keys must not destroy what shows what was done with them (X3).
//   HD1. A held deletion changes nothing of its record. Released, it is done as if it had just been received, unless the record was
//        published again after its document; rejected, it is never done, however often it is sent.
//        So its bytes are purged as long after the release as those of any other deletion after it was received.
//   HD2. A decision stands, and is an act with a name and a reason.

type HeldListCommand = CommandOf<BusinessProtocol, "deletions.held">;

/** A page of deletions that wait or waited for an operator. */
export function selectHeld({ after, limit }: HeldListCommand): readonly RowSelection[] {
  return [heldDeletions.selectPage(Math.min(limit, listedMax), { k: 0, k2: after })];
}

/** The deletions that wait for an operator. */
export function listHeld(_command: HeldListCommand, view: BusinessView): readonly HeldDeletion[] {
  return heldDeletions.readAll(view).map(({ value }) => value);
}

/** Releases a deletion that waits, or rejects it; a decision is never changed. */
export function decideDeletion(
  { record_id, document_hash, released, act }: CommandOf<BusinessProtocol, "deletion.decide">,
  view: BusinessView,
): Decision<RegisterReply, BusinessEvent> {
  const held = heldDeletions.read(view, document_hash);
  const head = heads.read(view, record_id);
  if (!held || !head || held.record_id !== record_id)
    return refused("deletion_unknown", "No deletion of this record with this hash waits or waited.");
  if (held.decided !== null)
    return held.decided.released === released
      ? { reply: { status: "done" } }
      : refused("already_decided", `It was ${held.decided.released ? "released" : "rejected"} before.`);
  if (released && isTooEarly(held, head))
    return refused("at_not_later", "The record was published again after this deletion was written.");
  const change = lastNumber(view, view.snapshot.context.change) + 1;
  const at = formatTimestamp(view.nowMs);
  const applied = released ? applyRemoval(dueLater(held, view), head, view, { applied_at: at }) : {};
  const decided = { released, at };
  const done = { act: "deletion.decide", entry: `deletion/${document_hash}`, change };
  return {
    ...applied,
    reply: { status: "done", changed: true },
    events: [
      { type: "deletion.decided", document_hash, released },
      { type: "register.changed", keys: [], change, act },
      ...(applied.events ?? []),
    ],
    puts: [
      heldDeletions.write(document_hash, { ...held, decided }),
      actRow(act, done, view.nowMs),
      ...(applied.puts ?? []),
    ],
  };
}

/** A deletion states its time of purge when it is received; it waits for that time from now on. */
function dueLater({ decided: _waiting, ...command }: HeldDeletion, { nowMs }: BusinessView): RemoveRecord {
  const { purge_at_ms, sealed } = command;
  if (purge_at_ms === undefined) return command;
  return { ...command, purge_at_ms: nowMs + purge_at_ms - Date.parse(sealed.received_at) };
}

function refused(code: string, detail: string): Decision<RegisterReply, BusinessEvent> {
  return { reply: { status: "refused", code, detail } };
}
