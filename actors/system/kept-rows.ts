// The keyed rows that an activation keeps in memory, of the tables that its kind names: those that it read or wrote last. What nearly every
// command needs is then not read and parsed again.
//   KR1. They change with commits alone, as the snapshot does, and end with the activation.
//   KR2. Rows of these tables have no number and do not expire. Only what is selected by its key is found here.

import type { PartitionRow, RowKey, RowSelection } from "../../storage/actor-store.ts";

/** Characters of the rows that are kept of one actor: as many as its context may have. */
const keptTextMax = 65_536;

export class KeptRows {
  readonly #tables: readonly number[];
  /** By table and text key, those that were written or read from the store longest ago first. */
  readonly #rows = new Map<string, PartitionRow>();
  #text = 0;

  constructor(tables: readonly number[]) {
    this.#tables = tables;
  }

  /** The selected rows that are here, and what the store must be asked for. */
  find(selections: readonly RowSelection[]): {
    readonly rows: readonly PartitionRow[];
    readonly missing: readonly RowSelection[];
  } {
    const rows: PartitionRow[] = [];
    const missing: RowSelection[] = [];
    for (const selection of selections) {
      if (!("keys" in selection) || !this.#tables.includes(selection.rt)) {
        missing.push(selection);
        continue;
      }
      const { rt } = selection;
      const keys: string[] = [];
      for (const k2 of selection.keys) {
        const row = this.#rows.get(nameOf({ rt, k2 }));
        if (row === undefined) keys.push(k2);
        else rows.push(row);
      }
      if (keys.length > 0) missing.push({ rt, keys });
    }
    return { rows, missing };
  }

  /** Takes over rows as the store has them. */
  note(rows: readonly PartitionRow[]): void {
    for (const row of rows) {
      if (!this.#tables.includes(row.rt)) continue;
      if (row.k !== 0 || row.expiresAtMs !== undefined) throw new Error(`table ${row.rt} is not one to keep`);
      this.#remove(nameOf(row));
      this.#rows.set(nameOf(row), row);
      this.#text += row.body.length;
    }
    for (const name of this.#rows.keys()) {
      if (this.#text <= keptTextMax) return;
      this.#remove(name);
    }
  }

  forget(keys: readonly RowKey[]): void {
    for (const key of keys) this.#remove(nameOf(key));
  }

  #remove(name: string): void {
    const known = this.#rows.get(name);
    if (known === undefined) return;
    this.#rows.delete(name);
    this.#text -= known.body.length;
  }
}

function nameOf({ rt, k2 }: Pick<RowKey, "rt" | "k2">): string {
  return `${rt}/${k2}`;
}
