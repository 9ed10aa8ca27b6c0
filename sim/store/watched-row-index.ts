// The index in memory, whose rows a checker can look through.

import { MemoryRowIndex } from "../../storage/memory/row-index.ts";
import type { RowChange } from "../../storage/row-index.ts";

export class WatchedRowIndex extends MemoryRowIndex {
  readonly #changes = new Map<string, RowChange>();

  override async apply(changes: readonly RowChange[]): Promise<readonly ("applied" | "stale")[]> {
    const outcomes = await super.apply(changes);
    changes.forEach((change, index) => {
      if (outcomes[index] === "applied") this.#changes.set(change.record_id, change);
    });
    return outcomes;
  }

  /** Row texts of what a search could find, by record id. */
  live(): ReadonlyMap<string, string> {
    const rows = new Map<string, string>();
    for (const change of this.#changes.values())
      if (change.kind === "put") rows.set(change.record_id, change.row);
    return rows;
  }
}
