// A map that keeps the most recently used entries (LRU). Entries are linked in order of use, so that a hit moves two links
// and changes nothing in the map itself.
//   L1. There are never more than `entriesMax` entries.
//   L2. The evicted entry is the one whose last `get` or `set` is the longest ago, so the content depends on the calls
//       alone, and two runs with the same calls keep the same entries. `has`, `size` and `entries` do not count as use.

interface Entry<K, V> {
  readonly key: K;
  value: V;
  older: Entry<K, V> | null;
  newer: Entry<K, V> | null;
}

export class BoundedMap<K, V> {
  readonly #entriesMax: number;
  readonly #entries = new Map<K, Entry<K, V>>();
  #oldest: Entry<K, V> | null = null;
  #newest: Entry<K, V> | null = null;

  /** Throws a RangeError unless `entriesMax` is at least 1. */
  constructor(entriesMax: number) {
    if (!(entriesMax >= 1)) throw new RangeError(`A map of at most ${entriesMax} entries keeps nothing.`);
    this.#entriesMax = entriesMax;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#use(entry);
    return entry.value;
  }

  has(key: K): boolean {
    return this.#entries.has(key);
  }

  set(key: K, value: V): void {
    const known = this.#entries.get(key);
    if (known !== undefined) {
      known.value = value;
      this.#use(known);
      return;
    }
    if (this.#entries.size + 1 > this.#entriesMax && this.#oldest !== null) this.delete(this.#oldest.key);
    const entry: Entry<K, V> = { key, value, older: null, newer: null };
    this.#entries.set(key, entry);
    this.#link(entry);
  }

  /** Returns false if there was no such entry. */
  delete(key: K): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined) return false;
    this.#unlink(entry);
    return this.#entries.delete(key);
  }

  /** From the one that was used longest ago; looking is no use. What is given may be deleted meanwhile. */
  *entries(): IterableIterator<readonly [K, V]> {
    for (let entry = this.#oldest; entry !== null; ) {
      const { key, value, newer } = entry;
      yield [key, value];
      entry = newer;
    }
  }

  clear(): void {
    this.#entries.clear();
    this.#oldest = null;
    this.#newest = null;
  }

  #use(entry: Entry<K, V>): void {
    if (entry === this.#newest) return;
    this.#unlink(entry);
    this.#link(entry);
  }

  #link(entry: Entry<K, V>): void {
    entry.older = this.#newest;
    entry.newer = null;
    if (this.#newest === null) this.#oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
  }

  #unlink({ older, newer }: Entry<K, V>): void {
    if (older === null) this.#oldest = newer;
    else older.newer = newer;
    if (newer === null) this.#newest = older;
    else newer.older = older;
  }
}

/** What `make` makes of an object, made when it is first asked for, and kept as long as the object is. */
export function madeOnce<K extends WeakKey, V extends object>(make: (of: K) => V): (of: K) => V {
  const kept = new WeakMap<K, V>();
  return (of) => {
    let made = kept.get(of);
    if (made === undefined) {
      made = make(of);
      kept.set(of, made);
    }
    return made;
  };
}
