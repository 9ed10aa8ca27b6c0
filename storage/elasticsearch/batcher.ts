// Combines the changes that several callers apply at the same time into fewer calls: a request to the cluster costs about
// as much as many rows, and each is followed by its own flush to disk.
//   G1. At most `callsMax` calls are under way. Submissions that arrive meanwhile go together into the next call, whole
//       and in order of arrival, until it has `changesMax` changes or more.
//   G2. Every caller gets the outcomes of its own changes in their order; a call that fails fails for all its callers.

export interface BatcherLimits {
  readonly callsMax: number;
  readonly changesMax: number;
}

interface Waiting<C, O> {
  readonly changes: readonly C[];
  readonly resolve: (outcomes: readonly O[]) => void;
  readonly reject: (error: unknown) => void;
}

export class Batcher<C, O> {
  readonly #call: (changes: readonly C[]) => Promise<readonly O[]>;
  readonly #limits: BatcherLimits;
  #waiting: Waiting<C, O>[] = [];
  #calls = 0;

  /** `call` returns an outcome for each change. */
  constructor(call: (changes: readonly C[]) => Promise<readonly O[]>, limits: BatcherLimits) {
    this.#call = call;
    this.#limits = limits;
  }

  apply(changes: readonly C[]): Promise<readonly O[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly O[]>();
    this.#waiting.push({ changes, resolve, reject });
    this.#begin();
    return promise;
  }

  #begin(): void {
    while (this.#calls < this.#limits.callsMax && this.#waiting.length > 0) {
      this.#calls += 1;
      void this.#run(this.#takeNext());
    }
  }

  #takeNext(): readonly Waiting<C, O>[] {
    let changes = 0;
    let count = 0;
    for (const waiting of this.#waiting) {
      if (count > 0 && changes >= this.#limits.changesMax) break;
      changes += waiting.changes.length;
      count += 1;
    }
    const next = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    return next;
  }

  async #run(callers: readonly Waiting<C, O>[]): Promise<void> {
    try {
      const outcomes = await this.#call(callers.flatMap(({ changes }) => changes));
      let from = 0;
      for (const { changes, resolve } of callers) {
        resolve(outcomes.slice(from, from + changes.length));
        from += changes.length;
      }
    } catch (error) {
      for (const { reject } of callers) reject(error);
    } finally {
      this.#calls -= 1;
      this.#begin();
    }
  }
}
