import { canonicalBytes } from "./json/canonical-json.ts";
import { type Receipt, receiptPayloadText } from "./receipt.ts";

/** The payload bytes of a receipt of any version. */
export function receiptPayload(receipt: Receipt): Uint8Array {
  if (receipt.v === 3) return new TextEncoder().encode(receiptPayloadText(receipt));
  return canonicalBytes({ ...receipt, rows: receipt.rows.map((row) => ({ ...row })) });
}
