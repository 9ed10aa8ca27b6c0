// Work begun before it is asked for: while one chunk is written, the next is judged and signed. A cache and nothing more:
// what is not here, or failed here, is made when it is asked for.

export interface LookAhead<T> {
  /** Begins the work of `key` unless it is under way, forgetting the oldest when there is too much. */
  begin(key: string, work: () => Promise<T>): void;
  /** The result of the work begun for `key`, once; without one, or if it failed, the work is done now. */
  take(key: string, work: () => Promise<T>): Promise<T>;
}

export function createLookAhead<T>(max: number): LookAhead<T> {
  const begun = new Map<string, Promise<T | null>>();
  return {
    begin: (key, work) => {
      if (begun.has(key)) return;
      const [oldest] = begun.keys();
      if (begun.size >= max && oldest !== undefined) begun.delete(oldest);
      begun.set(
        key,
        work().catch(() => null),
      );
    },
    take: async (key, work) => {
      const early = begun.get(key);
      begun.delete(key);
      return (await early) ?? work();
    },
  };
}
