// The rows of a partition that were deleted and that Cassandra still keeps as tombstones: a page passes over those that lie before
// its last row. Stores that lack tombstones count them, so that a test fails where a real store would get slower and then refuse.
//   TR1. A page passes over a bounded number of deleted rows, however many there are: what is deleted in order is read from behind it.

import type { PartitionRow, RowKey, RowSelection } from "../actor-store.ts";

/** A batch of the log, the most rows that one commit deletes, may be passed over once. */
export const passedOverMax = 1_024;

export class DeletedRows {
  readonly #ofTable = new Map<number, Map<string, RowKey>>();

  delete({ rt, k, k2 }: RowKey): void {
    const keys = this.#ofTable.get(rt) ?? new Map<string, RowKey>();
    this.#ofTable.set(rt, keys.set(`${k}/${k2}`, { rt, k, k2 }));
  }

  put({ rt, k, k2 }: RowKey): void {
    this.#ofTable.get(rt)?.delete(`${k}/${k2}`);
  }

  /** Throws where the page `found` passes over more than {@link passedOverMax} (TR1). Reads by keys pass over none. */
  check(selection: RowSelection, found: readonly PartitionRow[]): void {
    const keys = this.#ofTable.get(selection.rt);
    if ("keys" in selection || keys === undefined || keys.size <= passedOverMax) return;
    const { after, limit } = selection;
    const last = found.length < limit ? undefined : found.at(-1);
    let passed = 0;
    for (const key of keys.values())
      if ((after === undefined || isBefore(after, key)) && (last === undefined || isBefore(key, last)))
        passed += 1;
    if (passed > passedOverMax)
      throw new Error(`A page of table ${selection.rt} passes over ${passed} rows that were deleted.`);
  }
}

type Place = Pick<RowKey, "k" | "k2">;

function isBefore(a: Place, b: Place): boolean {
  return a.k === b.k ? a.k2 < b.k2 : a.k < b.k;
}
