// What happened, as a hash that two runs of a seed must share, and optionally as lines for people.

/** Maximum number of lines kept of a run that records its story. */
const linesMax = 200_000;

export class Trace {
  /** What happened, oldest first; null unless the story is recorded. */
  readonly lines: string[] | null;
  #high = 0x811c9dc5;
  #low = 0x9747b28c;

  constructor(options: { readonly story: boolean }) {
    this.lines = options.story ? [] : null;
  }

  /** Sixteen hexadecimal digits over everything recorded so far. */
  get hash(): string {
    return hexOf(this.#high) + hexOf(this.#low);
  }

  /** Adds a number to the hash. */
  number(value: number): void {
    this.#high = Math.imul(this.#high ^ (value & 0xffff), 0x01000193) >>> 0;
    this.#low = Math.imul(this.#low ^ (value >>> 16) ^ (this.#high >>> 15), 0x85ebca6b) >>> 0;
  }

  /** Adds a text to the hash. */
  text(value: string): void {
    for (let index = 0; index < value.length; index += 1) this.number(value.charCodeAt(index));
  }

  /** Adds an entry to the hash and a line to the story. `detail` is called only when the story is recorded. */
  tell(atMs: number, what: string, detail?: () => string): void {
    this.text(what);
    if (this.lines === null || this.lines.length >= linesMax) return;
    const seconds = (atMs / 1_000).toFixed(3).padStart(9);
    this.lines.push(`${seconds}  ${what}${detail === undefined ? "" : `  ${detail()}`}`);
  }
}

function hexOf(value: number): string {
  return (value >>> 0).toString(16).padStart(8, "0");
}
