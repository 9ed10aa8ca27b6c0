// Purges that the law orders: an operator has a record deleted and its bytes purged at once, without a document of the business.
//   PO1. An order concerns every version that there is of the record; it is kept with its ground for as long as the business exists, and has
//        its place in the order of withdrawals and deletions.
//   PO2. An order that is repeated changes nothing, unless the record was published again since.
//   PO3. What follows is what follows a deletion (Y1 to Y3 in purge.ts): hash, seal and leaf of each version stay.

import type { BusinessEvent } from "../../machines/business.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { BusinessProtocol, RegisterReply } from "../messages/business.ts";
import type { CommandOf } from "../messages/protocol.ts";
import type { PurgeOrder } from "../messages/removal.ts";
import type { Decision } from "../system/definition.ts";
import { actRow } from "./acts.ts";
import { takeOut } from "./remove.ts";
import { heads, purgeOrders, purgeOrdersByHash, removalOrder } from "./rows.ts";
import { lastNumber } from "./terms.ts";
import type { BusinessView } from "./view.ts";

/** The orders of a record, oldest first. */
export function ordersOf(view: BusinessView): readonly PurgeOrder[] {
  return purgeOrders.readAll(view).map(({ value }) => value);
}

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
    {
      ...{ record_id, document_hash, action: "delete", purge_at_ms: view.nowMs },
      received_at: ordered_at,
    },
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
