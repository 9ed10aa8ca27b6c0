// When each head of the log was written and published, for operators: which head covered a leaf first follows from its index.
//   HT1. Nothing is decided by them, and they are forgotten after a while.
//   HT2. A head that a lost home wrote and never published is no head of this log: its row goes when another one is adopted.
//   HT3. A row names the head before it, so nobody takes it for the first that covers a leaf where earlier rows are gone.

import type { PartitionRow, RowSelection } from "../../storage/actor-store.ts";
import type { TreeHead } from "../messages/log-sequencer.ts";
import { defineJsonTable, type RowTable } from "../system/row-table.ts";

/** A week: the log has at most a head for each batch of receipts and each interval of leaves. */
export const headTimesKeptMs = 7 * 86_400_000;
/** Heads that a lost home may have written without publishing one; it publishes while it writes the next. */
const unpublishedMax = 1_000;

/** The key is the size of the tree. */
export interface HeadTime {
  /** The size of the head before it, 0 for the first (HT3). */
  readonly from: number;
  readonly at_ms: number;
}

export const writtenHeads = defineJsonTable<HeadTime>("when heads were written", 17);
export const publishedHeads = defineJsonTable<HeadTime>("when heads were published", 18);

/** The row of a head that is written or published now. */
export function headRow(
  table: RowTable<HeadTime>,
  { size }: TreeHead,
  { from, at_ms }: HeadTime,
): PartitionRow {
  return table.write("h", { from, at_ms }, { k: size, expiresAtMs: at_ms + headTimesKeptMs });
}

/** Selects the first head with a row that covers the leaf at this index. */
export function selectCovering(table: RowTable<HeadTime>, index: number): RowSelection {
  return table.selectPage(1, { k: index, k2: "~" });
}

/** Selects what was written beyond this head (HT2). */
export function selectBeyond({ size }: TreeHead): RowSelection {
  return writtenHeads.selectPage(unpublishedMax, { k: size, k2: "~" });
}
