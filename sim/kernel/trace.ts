// What happened, as a hash that two runs of a seed must share, and as lines for people when somebody reads.

/** Lines kept of a run that tells its story. */
const linesMax = 200_000;

export class Trace {
  /** Null unless the story is wanted: then what happened, oldest first. */
  readonly lines: string[] | null;
  #high = 0x811c9dc5;
  #low = 0x9747b28c;

  constructor(options: { readonly story: boolean }) {
    this.lines = options.story ? [] : null;
  }

  /** Sixteen hexadecimal digits over everything noted so far. */
  get hash(): string {
    return hexOf(this.#high) + hexOf(this.#low);
  }

  /** Takes part in the hash. */
  number(value: number): void {
    this.#high = Math.imul(this.#high ^ (value & 0xffff), 0x01000193) >>> 0;
    this.#low = Math.imul(this.#low ^ (value >>> 16) ^ (this.#high >>> 15), 0x85ebca6b) >>> 0;
  }

  /** Takes part in the hash. */
  text(value: string): void {
    for (let index = 0; index < value.length; index += 1) this.number(value.charCodeAt(index));
  }

  /** Takes part in the hash, and is a line of the story. `detail` is asked for only when somebody reads. */
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
