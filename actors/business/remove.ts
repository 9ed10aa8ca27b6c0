// Withdrawal and deletion: the record leaves serving, and no push numbered before brings it back. The removal of a record that
// is already out of serving is numbered as well, because a pending push may be about to bring the record back.
//   X1. A document is applied once, however often and however late it is sent: it never touches a version published since.
//   X2. A document and its seal are kept for as long as the business exists, whatever becomes of the record.
//   X3. After a revocation for compromise a deletion changes nothing before an operator has decided on it (held-deletions.ts).
//   X4. A version that a deletion covers stays deleted, whatever is published, withdrawn or deleted after it.

import type { BusinessEvent } from "../../machines/business.ts";
import { recordIdPrefix } from "../../protocol/identifiers.ts";
import type { RowSelection } from "../../storage/actor-store.ts";
import type { BusinessProtocol } from "../messages/business.ts";
import type { CommandOf } from "../messages/protocol.ts";
import {
  deletionOf,
  type HeldDeletion,
  type Removal,
  type RemovalPlace,
  type RemoveRecord,
  type RemoveReply,
} from "../messages/removal.ts";
import type { Decision } from "../system/definition.ts";
import { countListings } from "./assign.ts";
import { logSeal } from "./log-entries.ts";
import { owePurge } from "./purge.ts";
import { type HeadRow, heads, heldDeletions, removalOrder, removals } from "./rows.ts";
import { nameInFiles, selectNamed, unserved } from "./served-files.ts";
import { lastNumber } from "./terms.ts";
import type { BusinessView } from "./view.ts";

/** Deletions that a head names; of a record that was deleted more often, a later one stands for those before. */
const deletionsMax = 4;
/** Maximum number of documents listed at once. */
const listedMax = 100;

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
export function isTooEarly({ at }: Pick<RemoveRecord, "at">, head: HeadRow): boolean {
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

export function applyRemoval(
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
export function takeOut(command: Leaving, head: HeadRow, view: BusinessView) {
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

export function listRemovals({ after, limit }: ListCommand, view: BusinessView): readonly RemovalPlace[] {
  const places = removalOrder.readAll(view).filter(({ k }) => k > after);
  return places
    .slice(0, Math.min(limit, listedMax))
    .map(({ k, value }) => ({ number: k, document_hash: value }));
}
