// Tables written with plain writes: every cell has a time stamp and the higher one wins, in any order of arrival.
//   L1. A write that was answered is seen by every later read in its region.
//   L2. A write that reached only a minority may or may not be seen by a read; once seen, it stays visible (read repair).
//   L3. A write reaches other regions later, each with its own delay.

import type { Coin } from "./actor-partition.ts";
import type { Reach } from "./statements.ts";

/** Applies a change of one region in another, some time later. */
export type Replicate = (from: string, to: string, change: () => void) => void;

export interface Cell<V> {
  readonly key: string;
  readonly value: V;
  /** Higher wins; among equals the first to arrive stays. */
  readonly stamp: number;
}

export class PlainTable<V> {
  readonly #regions = new Map<string, Map<string, Cell<V>>>();
  readonly #arrivals = new Map<string, number>();
  readonly #undecided: { readonly region: string; readonly cell: Cell<V> }[] = [];
  readonly #options: PlainTablesOptions;

  constructor(options: PlainTablesOptions) {
    this.#options = options;
    for (const region of options.regions) this.#regions.set(region, new Map());
  }

  write(region: string, cells: readonly Cell<V>[], reach: Reach): void {
    for (const cell of cells) {
      if (reach === "full") this.#arrive(region, cell);
      else this.#undecided.push({ region, cell });
    }
  }

  read(region: string, key: string): V | null {
    if (this.#undecided.length > 0) this.#decide(region, (cell) => cell.key === key);
    return this.#regions.get(region)?.get(key)?.value ?? null;
  }

  /** All values of a region, in the order in which they last changed there. */
  values(region: string): readonly V[] {
    if (this.#undecided.length > 0) this.#decide(region, () => true);
    return [...(this.#regions.get(region)?.values() ?? [])].map((cell) => cell.value);
  }

  /** What has arrived in a region, by key, without deciding undecided writes: for checkers. */
  arrived(region: string): ReadonlyMap<string, Cell<V>> {
    return this.#regions.get(region) ?? new Map();
  }

  /** How often a cell of the region changed: grows with each change, and with what a read may yet decide. */
  arrivals(region: string): number {
    return (this.#arrivals.get(region) ?? 0) + (this.#undecided.length > 0 ? 0.5 : 0);
  }

  /** Deletes everywhere, without a tombstone, cells up to this stamp: for keys never written again with such a stamp. */
  remove(keys: readonly string[], untilStamp = Number.POSITIVE_INFINITY): void {
    const gone = new Set(keys);
    for (const cells of this.#regions.values()) {
      for (const key of keys) if ((cells.get(key)?.stamp ?? 0) <= untilStamp) cells.delete(key);
    }
    for (let index = this.#undecided.length - 1; index >= 0; index -= 1) {
      const cell = this.#undecided[index]?.cell;
      if (cell !== undefined && gone.has(cell.key) && cell.stamp <= untilStamp)
        this.#undecided.splice(index, 1);
    }
  }

  #decide(region: string, concerns: (cell: Cell<V>) => boolean): void {
    for (let index = 0; index < this.#undecided.length; index += 1) {
      const undecided = this.#undecided[index];
      if (undecided === undefined || undecided.region !== region || !concerns(undecided.cell)) continue;
      if (!this.#options.coin()) {
        this.#options.missed();
        continue;
      }
      this.#undecided.splice(index, 1);
      index -= 1;
      this.#arrive(region, undecided.cell);
    }
  }

  #arrive(region: string, cell: Cell<V>): void {
    this.#put(region, cell);
    for (const other of this.#options.regions) {
      if (other !== region) this.#options.replicate(region, other, () => this.#put(other, cell));
    }
  }

  #put(region: string, cell: Cell<V>): void {
    const cells = this.#regions.get(region);
    const known = cells?.get(cell.key);
    if (cells === undefined || (known !== undefined && known.stamp >= cell.stamp)) return;
    // Reinserted at the end: the order of the map is the order of arrival.
    cells.delete(cell.key);
    cells.set(cell.key, cell);
    this.#arrivals.set(region, (this.#arrivals.get(region) ?? 0) + 1);
  }
}

export interface PlainTablesOptions {
  readonly regions: readonly string[];
  readonly coin: Coin;
  readonly replicate: Replicate;
  /** A read did not see a write that later ones may see. */
  readonly missed: () => void;
}

export interface PlainTables {
  /** The table of that name; the caller determines the type of its values. */
  of<V>(name: string): PlainTable<V>;
}

export function createPlainTables(options: PlainTablesOptions): PlainTables {
  const tables = new Map<string, PlainTable<unknown>>();
  return {
    of: <V>(name: string): PlainTable<V> => {
      const known = tables.get(name) ?? new PlainTable<unknown>(options);
      tables.set(name, known);
      return known as PlainTable<V>;
    },
  };
}
