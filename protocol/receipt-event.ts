// What is stored beside a receipt for the event stream, the company's listing and its usage: what the receipt's row does not
// say without being opened.

import { isObject } from "../std/is-object.ts";
import type { JsonValue } from "./canonical-json.ts";
import { parseEnvelope } from "./dsse.ts";
import { openReceipt } from "./receipt.ts";

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

/**
 * The facts of a stored receipt: of its event, or, for a receipt of a release without events, of the envelope itself. Null
 * for a text that is not a receipt, which no release has stored.
 */
export function receiptFacts(row: {
  readonly envelope: string;
  readonly event?: string | null | undefined;
}): ReceiptFacts | null {
  if (typeof row.event === "string") {
    const { company, type, collection, country, rows } = openReceiptEvent(row.event);
    return { company, kind: type, collection, country, rows };
  }
  const value = parsed(row.envelope);
  const envelope = isObject(value) ? parseEnvelope(value) : null;
  const receipt = envelope?.ok ? openReceipt(envelope.value) : null;
  if (!receipt?.ok) return null;
  const { ai_company_uuid: company, kind, collection, country, rows } = receipt.value;
  return { company, kind, collection, country, rows: rows.length };
}

function parsed(text: string): JsonValue | null {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return null;
  }
}
