// Names in the cluster. A generation of a collection's index is `<prefix><collection>-<number>`. Rows are searched through
// the alias `<prefix><collection>`, of which the serving generation is the write index; `<prefix><collection>.next` is the
// generation that is being built. Each generation is written through an alias of its own: a request for one that was removed
// must fail, where a write to a missing index would make it anew.

export class IndexNames {
  /** Alias of the serving generation. */
  readonly serving: string;
  /** Alias of the generation that is being built. */
  readonly next: string;
  /** Every generation, and perhaps others: see {@link number}. */
  readonly pattern: string;

  constructor(prefix: string, collection: string) {
    this.serving = `${prefix}${collection}`;
    this.next = `${this.serving}.next`;
    this.pattern = `${this.serving}-*`;
  }

  generation(number: number): string {
    return `${this.serving}-${String(number).padStart(6, "0")}`;
  }

  /** Number of a generation; null for another index. */
  number(index: string): number | null {
    const digits = index.startsWith(`${this.serving}-`) ? index.slice(this.serving.length + 1) : "";
    return /^\d{6,}$/.test(digits) ? Number(digits) : null;
  }
}

/** Alias that rows of a generation are written through. */
export function rowsAlias(generation: string): string {
  return `${generation}.rows`;
}
