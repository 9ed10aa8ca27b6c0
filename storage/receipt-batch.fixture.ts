import type { ReceiptRow, ReceiptStore } from "./receipt-store.ts";

/** All receipts of a batch at once. */
export async function wholeBatch(
  store: Pick<ReceiptStore, "readBatch">,
  region: string,
  batch: string,
): Promise<readonly ReceiptRow[]> {
  return (await Array.fromAsync(store.readBatch(region, batch))).flat();
}
