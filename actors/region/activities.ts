// What the region actor has done outside: rows into its index, receipts into closed batches.

import { toHex, utf8 } from "../../protocol/bytes.ts";
import type { Sha256 } from "../../protocol/hash.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { leafHash, merkleRoot } from "../../protocol/merkle.ts";
import { receiptMinute } from "../../protocol/receipt.ts";
import type { ReceiptStore } from "../../storage/receipt-store.ts";
import type { RowChange, RowIndex } from "../../storage/row-index.ts";
import type { RegionCommand } from "../messages/region.ts";
import type { Activity, ActivityContext } from "../system/definition.ts";

export interface RegionPorts {
  readonly index: RowIndex;
  readonly receipts: ReceiptStore;
  readonly sha256: Sha256;
}

/** Batches closed in one go; the rest waits for the next minute. */
const batchesMax = 1_000;
/** A batch is closed this long after its minute, so that receipts under way when the minute ended are in it. */
const closeLagMs = 30_000;

export function regionActivities(ports: RegionPorts): Record<string, Activity> {
  return {
    applyRows: async (params: { work_id: string; changes: readonly RowChange[] }): Promise<RegionCommand> => {
      const { work_id, changes } = params;
      try {
        const outcomes = await ports.index.apply(changes);
        const stale = outcomes.filter((outcome) => outcome === "stale").length;
        return { type: "rows.applied", work_id, stale, rows: changes.length };
      } catch (error) {
        return {
          type: "rows.failed",
          work_id,
          detail: error instanceof Error ? error.message : String(error),
        };
      }
    },
    closeReceipts: async (params: { region: string }, context: ActivityContext): Promise<RegionCommand> => {
      const closed = await closeReceiptBatches(ports, params.region, context.nowMs());
      return { type: "receipts.closed", batches: closed };
    },
  };
}

/** Closes every batch whose minute has passed: the root over its receipts in retrieval_id order (RFC 6962 §2.1). */
export async function closeReceiptBatches(
  ports: RegionPorts,
  region: string,
  nowMs: number,
): Promise<number> {
  const names = await ports.receipts.openBatches(region, minuteName(nowMs - closeLagMs), batchesMax);
  for (const batch of names) {
    const rows = await ports.receipts.readBatch(region, batch);
    const leaves = rows.map((row) => leafHash(utf8(row.envelope), ports.sha256));
    await ports.receipts.closeBatch({
      region,
      batch,
      root: `sha256:${toHex(merkleRoot(leaves, ports.sha256))}`,
      tree_size: rows.length,
      closed_at_ms: nowMs,
    });
  }
  return names.length;
}

/** `YYYYMMDDHHMM` of an instant, UTC: what a batch's name starts with. */
export function minuteName(ms: number): string {
  return receiptMinute(formatTimestamp(ms));
}
