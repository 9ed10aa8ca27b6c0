// The keyed rows that one turn sees: the loaded rows, overlaid by what its decisions have put and deleted so far.
//   W1. A decision sees exactly the rows that its own command selected, so its outcome does not depend on
//       which other commands happen to share its turn. Reading any other row is a bug of the kind.
//   W2. A row that has expired is not seen, whether or not the store has removed it yet.
//   W3. A commit either puts or deletes a key, never both.

import { type PartitionRow, type RowKey, type RowSelection, rowTable } from "../../storage/actor-store.ts";

/** Rows by table and `k/k2`; null for a deleted row. */
type Tables = Map<number, Map<string, PartitionRow | null>>;

export class TurnRows {
  readonly #loaded: Tables = new Map();
  readonly #changed: Tables = new Map();
  readonly #nowMs: number;
  readonly #matchers = new Map<RowSelection, (k: number, k2: string) => boolean>();
  /** The selections of the command that is being decided. */
  selections: readonly RowSelection[] = [];

  constructor(loaded: readonly PartitionRow[], nowMs: number) {
    this.#nowMs = nowMs;
    for (const row of loaded) tableOf(this.#loaded, row.rt).set(keyOf(row), row);
  }

  /** The row, or undefined if there is none. Throws for a row that was not selected (W1). */
  row(rt: number, k: number, k2: string): PartitionRow | undefined {
    if (!this.selections.some((selection) => selection.rt === rt && this.#matcher(selection)(k, k2))) {
      throw new Error(`row ${rt}/${k}/${k2} was read and not selected`);
    }
    const row = this.#current(rt, `${k}/${k2}`);
    return row !== undefined && this.#isLive(row) ? row : undefined;
  }

  /** The selected rows of a table, in (k, k2) order. */
  rowsOf(rt: number): readonly PartitionRow[] {
    const found = new Map<string, PartitionRow>();
    for (const selection of this.selections) {
      if (selection.rt !== rt) continue;
      for (const row of this.#select(selection)) found.set(keyOf(row), row);
    }
    return [...found.values()].sort(compareRows);
  }

  put(row: PartitionRow): void {
    assertKeyed(row.rt);
    tableOf(this.#changed, row.rt).set(keyOf(row), row);
  }

  delete(key: RowKey): void {
    assertKeyed(key.rt);
    tableOf(this.#changed, key.rt).set(keyOf(key), null);
  }

  /** Adds the rows that the commit has to put and delete (W3). */
  collect(puts: PartitionRow[], deletes: RowKey[]): void {
    for (const [rt, table] of this.#changed) {
      for (const [key, row] of table) {
        if (row !== null) puts.push(row);
        else deletes.push(parseKey(rt, key));
      }
    }
  }

  #current(rt: number, key: string): PartitionRow | undefined {
    const changed = this.#changed.get(rt)?.get(key);
    if (changed !== undefined) return changed ?? undefined;
    return this.#loaded.get(rt)?.get(key) ?? undefined;
  }

  #select(selection: RowSelection): PartitionRow[] {
    const matches = this.#matcher(selection);
    const rows = this.#merged(selection.rt).filter((row) => matches(row.k, row.k2));
    return "keys" in selection ? rows : rows.slice(0, selection.limit);
  }

  #merged(rt: number): PartitionRow[] {
    const merged = new Map(this.#loaded.get(rt));
    for (const [key, row] of this.#changed.get(rt) ?? []) merged.set(key, row);
    const rows: PartitionRow[] = [];
    for (const row of merged.values()) if (row !== null && this.#isLive(row)) rows.push(row);
    return rows.sort(compareRows);
  }

  /** Whether a key is on the page: after its start and, if the store had more rows, up to the last one read. */
  #pageOf(
    selection: Exclude<RowSelection, { readonly keys: readonly string[] }>,
  ): (k: number, k2: string) => boolean {
    const start = selection.after ?? { k: -1, k2: "" };
    const stored: PartitionRow[] = [];
    for (const row of this.#loaded.get(selection.rt)?.values() ?? []) {
      if (row !== null && compareKeys(row.k, row.k2, start) > 0) stored.push(row);
    }
    const end = stored.sort(compareRows)[selection.limit - 1];
    return (k, k2) => compareKeys(k, k2, start) > 0 && (end === undefined || compareKeys(k, k2, end) <= 0);
  }

  #matcher(selection: RowSelection): (k: number, k2: string) => boolean {
    const known = this.#matchers.get(selection);
    if (known !== undefined) return known;
    let matches: (k: number, k2: string) => boolean;
    if ("keys" in selection) {
      const keys = new Set(selection.keys);
      matches = (_k, k2) => keys.has(k2);
    } else matches = this.#pageOf(selection);
    this.#matchers.set(selection, matches);
    return matches;
  }

  #isLive(row: PartitionRow): boolean {
    return row.expiresAtMs === undefined || row.expiresAtMs >= this.#nowMs;
  }
}

/** Merges the selections of all commands of a turn: keys are grouped by table, and equal pages are read once. */
export function mergeSelections(all: readonly (readonly RowSelection[])[]): readonly RowSelection[] {
  const keys = new Map<number, Set<string>>();
  const pages = new Map<string, RowSelection>();
  for (const selections of all) {
    for (const selection of selections) {
      assertKeyed(selection.rt);
      if ("keys" in selection) {
        const known = keys.get(selection.rt);
        if (known === undefined) keys.set(selection.rt, new Set(selection.keys));
        else for (const key of selection.keys) known.add(key);
      } else {
        const { after } = selection;
        pages.set(`${selection.rt}/${selection.limit}/${after?.k}/${after?.k2}`, selection);
      }
    }
  }
  const byKey = [...keys].flatMap(([rt, of]) => (of.size > 0 ? [{ rt, keys: [...of] }] : []));
  return [...byKey, ...pages.values()];
}

function assertKeyed(rt: number): void {
  if (rt < rowTable.firstKeyed) throw new Error(`table ${rt} belongs to the actor system`);
}

function tableOf(tables: Tables, rt: number): Map<string, PartitionRow | null> {
  const known = tables.get(rt);
  if (known !== undefined) return known;
  const table = new Map<string, PartitionRow | null>();
  tables.set(rt, table);
  return table;
}

function keyOf(key: { readonly k: number; readonly k2: string }): string {
  return `${key.k}/${key.k2}`;
}

function parseKey(rt: number, key: string): RowKey {
  const slash = key.indexOf("/");
  return { rt, k: Number(key.slice(0, slash)), k2: key.slice(slash + 1) };
}

function compareRows(a: PartitionRow, b: PartitionRow): number {
  return compareKeys(a.k, a.k2, b);
}

function compareKeys(k: number, k2: string, other: { readonly k: number; readonly k2: string }): number {
  if (k !== other.k) return k - other.k;
  return k2 < other.k2 ? -1 : k2 > other.k2 ? 1 : 0;
}
