import { sha256 } from "../protocol/bytes.ts";
import { receiptHashes } from "../protocol/receipt.ts";
import type { ListedReceipt, ReceiptRow, ReceiptStore } from "./receipt-store.ts";

/** All receipts of a batch at once. */
export async function wholeBatch(
  store: Pick<ReceiptStore, "readBatch">,
  region: string,
  batch: string,
): Promise<readonly ListedReceipt[]> {
  return (await Array.fromAsync(store.readBatch(region, batch))).flat();
}

/** A receipt without its envelope. */
export function factsOf({ envelope: _, ...facts }: ReceiptRow): ListedReceipt {
  return facts;
}

/** A receipt with the hashes of its envelope. */
export function hashed(row: Omit<ReceiptRow, "hash" | "leaf">): ReceiptRow {
  return { ...row, ...receiptHashes(row.envelope, sha256) };
}
