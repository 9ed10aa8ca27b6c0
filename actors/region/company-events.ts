// The events of AI companies, from the receipts of one batch: what was answered, and nothing that was not.

import { formatTimestamp } from "../../protocol/identifiers.ts";
import { openReceiptEvent } from "../../protocol/receipt-event.ts";
import type { CompanyEvent as StoredBody } from "../../protocol/wire/events.ts";
import type { CompanyEvent } from "../../storage/event-store.ts";
import type { ReceiptRow } from "../../storage/receipt-store.ts";

/** An event as it is stored: the cursor is its place in the store. */
type Body = Omit<StoredBody, "cursor">;

export function eventsOf(receipts: readonly ReceiptRow[]): readonly CompanyEvent[] {
  return receipts.map((row) => {
    const { company, collection, ...event } = openReceiptEvent(row.event);
    const body: Body = {
      event_id: `event_${row.retrieval_id.slice("ret_".length)}`,
      at: formatTimestamp(row.served_at_ms),
      retrieval_id: row.retrieval_id,
      key_id: row.key_id,
      billable: row.billable,
      region: row.region,
      collection: collection as Body["collection"],
      ...event,
    };
    return { company, retrieval_id: row.retrieval_id, body: JSON.stringify(body) };
  });
}
