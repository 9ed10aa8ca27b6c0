// Names in the cluster. A generation of a collection's index is `<prefix><collection>-<number>`. Rows are searched through
// the alias `<prefix><collection>`, of which the serving generation is the write index; `<prefix><collection>.next` is the
// generation that is being built. Each generation is written through its own alias: a request for a removed generation
// must fail, whereas a write to a missing index would recreate it. An index that was lost is made again under the same
// name, so while one is built it has an alias of its builder alone.

export class IndexNames {
  /** Alias of the serving generation. */
  readonly serving: string;
  /** Alias of the generation that is being built. */
  readonly next: string;
  /** Matches every generation, and perhaps other indices: see {@link number}. */
  readonly pattern: string;

  constructor(prefix: string, collection: string) {
    this.serving = `${prefix}${collection}`;
    this.next = `${this.serving}.next`;
    this.pattern = `${this.serving}-*`;
  }

  generation(number: number): string {
    return `${this.serving}-${String(number).padStart(6, "0")}`;
  }

  /** The number of a generation; null for any other index. */
  number(index: string): number | null {
    const digits = index.startsWith(`${this.serving}-`) ? index.slice(this.serving.length + 1) : "";
    return /^\d{6,}$/.test(digits) ? Number(digits) : null;
  }
}

/** The alias that a generation has while this builder builds it. */
export function builderAlias(generation: string, builder: string): string {
  return `${generation}.${builder}`;
}

/** The alias through which rows of a generation are written. */
export function rowsAlias(generation: string): string {
  return `${generation}.rows`;
}
