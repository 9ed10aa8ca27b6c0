// The counts of one node that are not lost with it: what is counted in memory and written to the store now and then.
//   B1. What is written of a count is its total since this book began it, so a write that is repeated counts nothing twice.
//   B2. A count that was let go is never continued: whatever is counted next under its name has another writer.
//   B3. Memory is bounded: at `cellsMax` counts all are let go once they are written, and while so many are waiting to be
//       written, or a company has named `namesPerCompanyMax` names of a day, further ones are only counted as lost.
//   B4. What could not be written is written again with the next flush.

import type { InsightCount } from "../storage/insight-store.ts";

/** What several names are counted under. */
export type CountPlace = Pick<InsightCount, "day" | "country" | "collection" | "company">;

export interface CountBookOptions {
  /** Unique among all books that ever were. */
  readonly name: string;
  readonly cellsMax: number;
  readonly namesPerCompanyMax?: number;
}

/** Counts in one write, and writes at once. */
const countsPerWrite = 250;
const writesAtOnce = 4;

interface Cell {
  readonly place: CountPlace;
  readonly name: string;
  readonly writer: string;
  searches: number;
  rows: number;
  fetches: number;
  /** The search that counted it last. */
  lastSearch: number;
  /** Whether it is among those that wait to be written; asking the set for each row would cost more than counting. */
  isWaiting: boolean;
}

export class CountBook {
  readonly #options: CountBookOptions;
  readonly #groups = new Map<string, Map<string, Cell>>();
  readonly #unwritten = new Set<Cell>();
  readonly #namesOf = new Map<string, number>();
  #cells = 0;
  #part = 0;
  #day = "";
  #search = 0;
  #lost = 0;

  constructor(options: CountBookOptions) {
    this.#options = options;
  }

  /** How often something was not counted because of the bounds (B3). */
  get lost(): number {
    return this.#lost;
  }

  /** How many places have counts in memory. */
  get places(): number {
    return this.#groups.size;
  }

  /** How many counts wait to be written. */
  get waiting(): number {
    return this.#unwritten.size;
  }

  /** Counts one search, and each of the names as a row in it; a name may occur several times. */
  search(place: CountPlace, names: readonly string[]): void {
    this.#search += 1;
    const group = this.#group(place);
    for (const name of names) {
      const cell = group.get(name) ?? this.#begin(group, place, name);
      if (cell === null) continue;
      cell.rows += 1;
      if (cell.lastSearch !== this.#search) cell.searches += 1;
      cell.lastSearch = this.#search;
      if (!cell.isWaiting) this.#wait(cell);
    }
  }

  fetch(place: CountPlace, name: string): void {
    const group = this.#group(place);
    const cell = group.get(name) ?? this.#begin(group, place, name);
    if (cell === null) return;
    cell.fetches += 1;
    if (!cell.isWaiting) this.#wait(cell);
  }

  /** Writes what has changed; rejects with what `put` rejects with, and the rest waits for the next call (B4). */
  async flush(put: (counts: readonly InsightCount[]) => Promise<void>): Promise<void> {
    const cells = [...this.#unwritten];
    for (let from = 0; from < cells.length; from += countsPerWrite * writesAtOnce) {
      const parts = Array.from({ length: writesAtOnce }, (_, at) => {
        const start = from + at * countsPerWrite;
        return cells.slice(start, start + countsPerWrite);
      });
      const written = await Promise.allSettled(parts.map((part) => this.#write(part, put)));
      for (const each of written) if (each.status === "rejected") throw each.reason;
    }
  }

  async #write(
    part: readonly Cell[],
    put: (counts: readonly InsightCount[]) => Promise<void>,
  ): Promise<void> {
    if (part.length === 0) return;
    const counts = part.map(countOf);
    for (const cell of part) {
      cell.isWaiting = false;
      this.#unwritten.delete(cell);
    }
    try {
      await put(counts);
    } catch (error) {
      for (const cell of part) this.#wait(cell);
      throw error;
    }
  }

  #wait(cell: Cell): void {
    cell.isWaiting = true;
    this.#unwritten.add(cell);
  }

  #group(place: CountPlace): Map<string, Cell> {
    if (place.day > this.#day) {
      this.#day = place.day;
      this.#namesOf.clear();
      this.#letGo();
    }
    if (this.#cells >= this.#options.cellsMax) this.#letGo();
    return this.#groups.get(keyOf(place)) ?? new Map<string, Cell>();
  }

  #begin(group: Map<string, Cell>, place: CountPlace, name: string): Cell | null {
    const { cellsMax, namesPerCompanyMax = Number.POSITIVE_INFINITY } = this.#options;
    const names = this.#namesOf.get(place.company) ?? 0;
    if (this.#unwritten.size >= cellsMax || names >= namesPerCompanyMax) {
      this.#lost += 1;
      return null;
    }
    this.#namesOf.set(place.company, names + 1);
    this.#cells += 1;
    const writer = `${this.#options.name}.${this.#part}`;
    const cell: Cell = {
      place,
      name,
      writer,
      searches: 0,
      rows: 0,
      fetches: 0,
      lastSearch: 0,
      isWaiting: false,
    };
    // A place is kept with its first count only, so there are never more places than counts (B3).
    if (group.size === 0) this.#groups.set(keyOf(place), group);
    group.set(name, cell);
    return cell;
  }

  /** Those that are not written yet stay until they are (B2). */
  #letGo(): void {
    this.#groups.clear();
    this.#cells = 0;
    this.#part += 1;
  }
}

function keyOf({ day, country, collection, company }: CountPlace): string {
  return `${day} ${country} ${collection} ${company}`;
}

function countOf({ place, name, writer, searches, rows, fetches }: Cell): InsightCount {
  return { ...place, name, writer, searches, rows, fetches };
}
