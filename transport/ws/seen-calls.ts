// Which calls of a connection were already received, so that a frame that the network duplicated is executed once. Call ids
// of a connection only grow, so a window below the highest is enough: an id older than the window counts as seen. This
// never executes anything twice; the caller of such a call runs into its time-out.

export const seenWindow = 65_536;

export class SeenCalls {
  readonly #bits = new Uint32Array(seenWindow / 32);
  #highest = 0;

  /** Records a call id (a positive integer). Returns false when it was recorded before, or may have been. */
  add(id: number): boolean {
    if (id <= this.#highest - seenWindow) return false;
    if (id > this.#highest) this.#moveTo(id);
    const slot = id % seenWindow;
    const [word, bit] = [slot >>> 5, 1 << (slot & 31)];
    const bits = this.#bits[word] ?? 0;
    if ((bits & bit) !== 0) return false;
    this.#bits[word] = bits | bit;
    return true;
  }

  #moveTo(id: number): void {
    if (id - this.#highest >= seenWindow) this.#bits.fill(0);
    else {
      for (let next = this.#highest + 1; next <= id; next += 1) {
        const slot = next % seenWindow;
        this.#bits[slot >>> 5] = (this.#bits[slot >>> 5] ?? 0) & ~(1 << (slot & 31));
      }
    }
    this.#highest = id;
  }
}
