import type { Withdrawal } from "./withdrawal.ts";

/** The exact document bytes to seal, with members in the order of the specification. */
export function withdrawalDocument(withdrawal: Withdrawal): Uint8Array {
  const { record_id, action, at } = withdrawal;
  return new TextEncoder().encode(JSON.stringify({ record_id, action, at }));
}
