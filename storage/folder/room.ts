// How many bytes of a folder its files take up, against the most that they may.
//   FR1. Bytes are counted before they are written, and counted until their file is gone.

export class FolderRoom {
  readonly #bytesMax: number;
  readonly #bytesOf = new Map<string, number>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Counts a file that is there already, whether or not there is room for it. */
  found(name: string, bytes: number): void {
    this.#bytesOf.set(name, (this.#bytesOf.get(name) ?? 0) + bytes);
    this.#bytes += bytes;
  }

  /** Throws if the bytes have no room (FR1). */
  take(name: string, bytes: number): void {
    if (this.#bytes + bytes > this.#bytesMax)
      throw new Error(`The files of the folder have ${this.#bytes} of ${this.#bytesMax} bytes.`);
    this.found(name, bytes);
  }

  free(name: string): void {
    this.#bytes -= this.#bytesOf.get(name) ?? 0;
    this.#bytesOf.delete(name);
  }
}
