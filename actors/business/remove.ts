// Withdrawal and deletion: the record leaves serving, and no push numbered before brings it back. The removal of a record that
// is already out of serving is numbered as well, because a pending push may be about to bring the record back.

import type { BusinessEvent } from "../../machines/business.ts";
import type { BusinessCommand, RemoveReply } from "../messages/business.ts";
import type { Decision } from "../system/definition.ts";
import { countListings } from "./assign.ts";
import { heads } from "./rows.ts";
import { lastNumber } from "./terms.ts";
import type { BusinessView } from "./view.ts";

export function removeRecord(
  command: Extract<BusinessCommand, { type: "record.remove" }>,
  view: BusinessView,
): Decision<RemoveReply, BusinessEvent> {
  const head = heads.read(view, command.record_id);
  if (!head) return { reply: { status: "unknown_record" } };
  if (!head.live && head.removed_by === command.document_hash) {
    return { reply: { status: "removed", change: head.change, collection: head.collection } };
  }
  const { context } = view.snapshot;
  const change = lastNumber(view, head.change) + 1;
  const number = lastNumber(view, context.number) + 1;
  return {
    reply: { status: "removed", change, collection: head.collection },
    events: [
      {
        type: "record.removed",
        record_id: command.record_id,
        collection: head.collection,
        number,
        change,
        generation: head.generation,
        hash: head.hash,
        listings: head.live ? -countListings(head.listings) : 0,
        live: head.live ? -1 : 0,
      },
    ],
    puts: [
      heads.write(command.record_id, {
        ...head,
        live: false,
        change,
        number,
        removed_by: command.document_hash,
      }),
    ],
  };
}
