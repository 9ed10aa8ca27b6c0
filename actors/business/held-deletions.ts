// Deletions that wait for an operator: a thief of the keys must not destroy what shows what was done with them (X3 in remove.ts).
//   HD1. A held deletion changes nothing of its record. Released, it is done as if it had just been received, unless the record was
//        published again after its document; rejected, it is never done, however often it is sent.
//        So its bytes are purged as long after the release as those of any other deletion after it was received.
//   HD2. A decision stands, and is an act with a name and a reason.

import type { BusinessEvent } from "../../machines/business.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { RowSelection } from "../../storage/actor-store.ts";
import type { BusinessProtocol, RegisterReply } from "../messages/business.ts";
import type { CommandOf } from "../messages/protocol.ts";
import type { HeldDeletion, RemoveRecord } from "../messages/removal.ts";
import type { Decision } from "../system/definition.ts";
import { actRow } from "./acts.ts";
import { applyRemoval, isTooEarly } from "./remove.ts";
import { heads, heldDeletions } from "./rows.ts";
import { lastNumber } from "./terms.ts";
import type { BusinessView } from "./view.ts";

/** Maximum number of deletions listed at once. */
const listedMax = 100;

type ListCommand = CommandOf<BusinessProtocol, "deletions.held">;

export function selectHeld({ after, limit }: ListCommand): readonly RowSelection[] {
  return [heldDeletions.selectPage(Math.min(limit, listedMax), { k: 0, k2: after })];
}

export function listHeld(_command: ListCommand, view: BusinessView): readonly HeldDeletion[] {
  return heldDeletions.readAll(view).map(({ value }) => value);
}

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
