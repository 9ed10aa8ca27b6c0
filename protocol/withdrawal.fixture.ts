import type { Withdrawal } from "./withdrawal.ts";

/** Exact document bytes to seal, members in the order of the specification. */
export function withdrawalDocument(withdrawal: Withdrawal): Uint8Array {
  const { record_id, action, at } = withdrawal;
  return new TextEncoder().encode(JSON.stringify({ record_id, action, at }));
}
