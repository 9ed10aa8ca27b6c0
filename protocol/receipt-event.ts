// What is stored beside a receipt for the event stream: what the receipt's row does not say without being opened.

export interface ReceiptEvent {
  /** The uuid of the AI company. */
  readonly company: string;
  readonly type: "search" | "fetch";
  readonly collection: string | null;
  readonly country: string | null;
  readonly rows: number;
  readonly client_query_id: string | null;
}

/** The JSON text that is stored. */
export function receiptEventText(event: ReceiptEvent): string {
  return JSON.stringify(event);
}

/** Reads what {@link receiptEventText} wrote. */
export function openReceiptEvent(text: string): ReceiptEvent {
  return JSON.parse(text) as ReceiptEvent;
}
