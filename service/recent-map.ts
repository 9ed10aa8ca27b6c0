// A bounded map that forgets what was not used for long. Entries live in two halves: what is used is in the young one;
// when that is full it becomes the old one, and what was still in the old one is forgotten. Nothing is moved on a hit in
// the young half, so a hot entry costs one look-up.

export interface RecentMap<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): void;
  delete(key: K): void;
  readonly size: number;
}

/** Keeps at most `entriesMax` entries, and at least the half of them that were used last. */
export function createRecentMap<K, V>(entriesMax: number): RecentMap<K, V> {
  const youngMax = Math.max(1, Math.floor(entriesMax / 2));
  let young = new Map<K, V>();
  let old = new Map<K, V>();
  const put = (key: K, value: V): void => {
    if (young.size >= youngMax && !young.has(key)) {
      old = young;
      young = new Map();
    }
    young.set(key, value);
  };
  return {
    get: (key) => {
      const known = young.get(key);
      if (known !== undefined || !old.has(key)) return known;
      const value = old.get(key) as V;
      old.delete(key);
      put(key, value);
      return value;
    },
    set: (key, value) => {
      old.delete(key);
      put(key, value);
    },
    delete: (key) => {
      young.delete(key);
      old.delete(key);
    },
    get size() {
      return young.size + old.size;
    },
  };
}
