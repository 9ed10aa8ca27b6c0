// The index in memory, whose rows a checker can inspect.

import { MemoryRowIndex } from "../../storage/memory/row-index.ts";
import type { RowChange } from "../../storage/row-index.ts";

export class WatchedRowIndex extends MemoryRowIndex {
  readonly #changes = new Map<string, RowChange>();

  readonly #kept: (change: RowChange) => RowChange;

  /** `kept` returns what the index keeps of a change: all of it, except in a variation. */
  constructor(kept: (change: RowChange) => RowChange = (change) => change) {
    super();
    this.#kept = kept;
  }

  override async apply(changes: readonly RowChange[]): Promise<readonly ("applied" | "stale")[]> {
    const kept = changes.map(this.#kept);
    const outcomes = await super.apply(kept);
    kept.forEach((change, index) => {
      if (outcomes[index] === "applied") this.#changes.set(change.record_id, change);
    });
    return outcomes;
  }

  /** Row texts that a search could find, by record id. */
  live(): ReadonlyMap<string, string> {
    const rows = new Map<string, string>();
    for (const change of this.#changes.values())
      if (change.kind === "put") rows.set(change.record_id, change.row);
    return rows;
  }
}
