import { formatTimestamp } from "../../protocol/identifiers.ts";
import { receiptMinute } from "../../protocol/receipt.ts";

/** The UTC minute of an instant as `YYYYMMDDHHMM`, with which a batch's name starts. */
export function minuteName(ms: number): string {
  return receiptMinute(formatTimestamp(ms));
}
