// When each head of the log was written and published, for operators: which head covered a leaf first follows from its index.
//   HT1. Nothing is decided by them, and they are forgotten after a while. Heads of earlier releases have none.
//   HT2. A head that a lost home wrote and never published is no head of this log: its row goes when another one is adopted.

import type { PartitionRow, RowSelection } from "../../storage/actor-store.ts";
import type { TreeHead } from "../messages/log-sequencer.ts";
import { defineTable, type RowTable } from "../system/row-table.ts";

/** A week: the log has at most a head for each batch of receipts and each interval of leaves. */
export const headTimesKeptMs = 7 * 86_400_000;
/** Heads that a lost home may have written without publishing one; it publishes while it writes the next. */
const unpublishedMax = 1_000;

const number = { encode: String, decode: Number } as const;
/** The key is the size of the tree; Unix milliseconds. */
export const writtenHeads = defineTable<number>({ name: "when heads were written", rt: 18, ...number });
export const publishedHeads = defineTable<number>({ name: "when heads were published", rt: 19, ...number });

/** The row of a head that is written or published now. */
export function headRow(table: RowTable<number>, { size }: TreeHead, nowMs: number): PartitionRow {
  return table.write("h", nowMs, { k: size, expiresAtMs: nowMs + headTimesKeptMs });
}

/** Selects the first head that covers the leaf at this index. */
export function selectCovering(table: RowTable<number>, index: number): RowSelection {
  return table.selectPage(1, { k: index, k2: "~" });
}

/** Selects what was written beyond this head (HT2). */
export function selectBeyond({ size }: TreeHead): RowSelection {
  return writtenHeads.selectPage(unpublishedMax, { k: size, k2: "~" });
}
