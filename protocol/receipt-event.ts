// What is stored beside a receipt for the event stream, the company's listing and its usage: what the receipt's row does not
// say without being opened.

export interface ReceiptEvent {
  /** The uuid of the AI company. */
  readonly company: string;
  readonly type: "search" | "fetch" | "ad_pool";
  readonly collection: string | null;
  readonly country: string | null;
  readonly rows: number;
  readonly client_query_id: string | null;
}

/** What was answered, and to which company: the facts of a {@link ReceiptEvent} that every receipt states itself. */
export type ReceiptFacts = Omit<ReceiptEvent, "client_query_id" | "type"> & {
  readonly kind: "search" | "fetch" | "ad_pool";
};

/** The JSON text that is stored. */
export function receiptEventText(event: ReceiptEvent): string {
  return JSON.stringify(event);
}

/** Reads what {@link receiptEventText} wrote. */
export function openReceiptEvent(text: string): ReceiptEvent {
  return JSON.parse(text) as ReceiptEvent;
}

/** The facts of a stored receipt, of its event. */
export function receiptFacts({ event }: { readonly event: string }): ReceiptFacts {
  const { company, type, collection, country, rows } = openReceiptEvent(event);
  return { company, kind: type, collection, country, rows };
}
