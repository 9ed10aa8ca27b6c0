// What the pushes of a business say of its records, besides their published bytes: the business's own ids of records that were
// rejected or held, and in which pushes a record is a reason of a hold.
//   T1. A push keeps no text of a record in its journal, but codes, pointers and record ids. The own id of a record is known only
//       here: from its head or, if it was rejected or held, for as long as attempts are listed.
//   T2. The listings of a hold's reasons are kept by the push, and here is where they can be found by their record.
//   T3. A purge forgets both, and what the head of a deleted record says of its content.
//   T4. A push that was numbered before a deletion says no own id of the deleted record again, however late it is judged.

import type { BusinessEvent } from "../../machines/business.ts";
import { attemptsKeptDays } from "../../protocol/limits.ts";
import { withoutRecord } from "../../protocol/price-shock.ts";
import type { PartitionRow, RowSelection } from "../../storage/actor-store.ts";
import type { BusinessProtocol, HeldReason, NamedRecord } from "../messages/business.ts";
import type { CommandOf, RegisterReply } from "../messages/protocol.ts";
import { deletionOf, type ForgetReply, type Purge } from "../messages/removal.ts";
import type { ActorView, Decision } from "../system/definition.ts";
import { defineJsonTable } from "../system/row-table.ts";
import { admissions, type BusinessView, type HeadRow, heads, selectAdmissions } from "./rows.ts";

type Asked<T extends keyof BusinessProtocol> = CommandOf<BusinessProtocol, T>;

/** By record id. */
const names = defineJsonTable<string>("own ids of rejected and held records", 54);
/** By record and push; the value says nothing. */
const heldBecause = defineJsonTable<null>("pushes held because of a record", 55);

const namesKeptMs = attemptsKeptDays * 86_400_000;
/** Maximum number of pushes of one answer. */
const pushesMax = 100;
/** Maximum number of records whose own ids are asked for at once. */
const idsMax = 200;

/** What a push of this number names; the heads of its records are selected. */
export function nameRows(
  named: readonly NamedRecord[],
  number: number,
  view: ActorView,
): readonly PartitionRow[] {
  const kept = named.filter(({ record_id }) => !isDeletedSince(heads.read(view, record_id), number));
  const byRecord = new Map(kept.map((each) => [each.record_id, each.business_product_id]));
  const expiresAtMs = view.nowMs + namesKeptMs;
  return [...byRecord].map(([recordId, ownId]) => names.write(recordId, ownId, { expiresAtMs }));
}

/** See T4. */
function isDeletedSince(head: HeadRow | undefined, number: number): boolean {
  return head !== undefined && head.number > number && deletionOf(head, head.generation) !== undefined;
}

/** The heads of the records that are named. */
export function selectForNames({ names: named }: Asked<"names.keep">): readonly RowSelection[] {
  return [heads.select(named.map(({ record_id }) => record_id))];
}

/** The head of a record that was published has its name already. */
export function keepNames(
  { names: named, number }: Asked<"names.keep">,
  view: ActorView,
): Decision<RegisterReply, BusinessEvent> {
  const unknown = named.filter(({ record_id }) => (heads.read(view, record_id)?.bpid ?? null) === null);
  return { reply: { status: "done" }, puts: nameRows(unknown, number, view) };
}

/** Where a purge finds that this push was held because of these records (T2). */
export function heldRows(pushId: string, reasons: readonly HeldReason[]): readonly PartitionRow[] {
  const records = new Set(reasons.flatMap(({ largest = [] }) => largest.map(({ record_id }) => record_id)));
  return [...records].map((recordId) => heldBecause.write(`${recordId}/${pushId}`, null));
}

/** The rows from which the business's own ids of these records are read, of as many as one question may name. */
export function selectOwnIds({ record_ids }: Asked<"own_ids.read">): readonly RowSelection[] {
  const ids = record_ids.slice(0, idsMax);
  return [heads.select(ids), names.select(ids)];
}

/** The business's own ids of records that it published or tried to publish, in the order asked for. */
export function readOwnIds(
  { record_ids }: Asked<"own_ids.read">,
  view: ActorView,
): { readonly own_ids: readonly (string | null)[] } {
  const ids = record_ids.slice(0, idsMax);
  return { own_ids: ids.map((id) => heads.read(view, id)?.bpid ?? names.read(view, id) ?? null) };
}

/** What a purge has to forget of a record, a page of pushes at a time. */
export function selectForget(
  { purge, after }: Asked<"purges.forget">,
  snapshot: BusinessView["snapshot"],
): readonly RowSelection[] {
  return [
    heads.select([purge.record_id]),
    heldBecause.selectPage(pushesMax, { k: 0, k2: `${purge.record_id}/${after}` }),
    selectAdmissions(snapshot),
  ];
}

/** See T3. It may be repeated: pushes stay listed, and what is forgotten stays so. */
export function forgetRecord(
  { purge }: Asked<"purges.forget">,
  view: BusinessView,
): Decision<ForgetReply, BusinessEvent> {
  const prefix = `${purge.record_id}/`;
  const found = heldBecause.readAll(view).filter(({ k2 }) => k2.startsWith(prefix));
  const push_ids = found.map(({ k2 }) => k2.slice(prefix.length));
  const held = push_ids.filter((id) => view.snapshot.context.held.includes(id));
  return {
    reply: { push_ids, held, more: found.length === pushesMax },
    puts: [...bareHead(purge, view), ...barePending(purge, view)],
    deletes: [names.key(purge.record_id)],
  };
}

/** The head of a record that was not published again keeps nothing that its bytes said. */
function bareHead({ record_id, generation }: Purge, view: ActorView): readonly PartitionRow[] {
  const head = heads.read(view, record_id);
  if (head === undefined || head.live || head.generation > generation) return [];
  if (deletionOf(head, head.generation) === undefined) return [];
  const { former: _former, ...kept } = head;
  return [heads.write(record_id, { ...kept, bpid: null, listings: {} })];
}

/** What a held push would be answered if it was sent again. */
function barePending({ record_id, number }: Purge, view: ActorView): readonly PartitionRow[] {
  return admissions.readAll(view).flatMap(({ k2, value }) => {
    const held_reasons = withoutRecord(value.held_reasons, record_id);
    return value.number > number || held_reasons === value.held_reasons
      ? []
      : [admissions.write(k2, { ...value, held_reasons })];
  });
}
