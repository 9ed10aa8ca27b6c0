// Who may send a file now. Files take long, as their senders like, so they have places of their own: bodies of batches never wait for
// them.
//   FP1. At most `filesMax` are taken in at once, and `filesPerOwnerMax` of one owner.
//   FP2. Where all places are taken, a newcomer gets that of the owner with most of them, if that one would still have as many as the
//        newcomer: an owner that holds many gives way while others wait. The youngest of its files ends, which has lost least.
//   FP3. A file that has to end is told so once, and gives back nothing more.

export interface FilePlacesLimits {
  readonly filesMax: number;
  readonly filesPerOwnerMax: number;
}

export class FilePlaces {
  readonly #limits: FilePlacesLimits;
  /** Of each owner, what ends its files, the oldest first. */
  readonly #byOwner = new Map<string, Set<() => void>>();
  count = 0;

  constructor(limits: FilePlacesLimits) {
    this.#limits = limits;
  }

  /** A function that gives the place back; null if there is none. `end` is called if another takes it. */
  take(owner: string, end: () => void): (() => void) | null {
    const own = this.#byOwner.get(owner)?.size ?? 0;
    if (own >= this.#limits.filesPerOwnerMax) return null;
    if (this.count >= this.#limits.filesMax && !this.#makeRoom(own)) return null;
    // An owner's files are told apart by this function, whatever its caller gave.
    const held = (): void => end();
    const files = this.#byOwner.get(owner) ?? new Set();
    this.#byOwner.set(owner, files.add(held));
    this.count += 1;
    return () => this.#leave(owner, held);
  }

  #makeRoom(own: number): boolean {
    let [most, files]: [string, ReadonlySet<() => void>] = ["", new Set()];
    for (const each of this.#byOwner) if (each[1].size > files.size) [most, files] = each;
    if (files.size <= own + 1) return false;
    const youngest = [...files].at(-1);
    if (youngest === undefined) return false;
    this.#leave(most, youngest);
    youngest();
    return true;
  }

  #leave(owner: string, held: () => void): void {
    const files = this.#byOwner.get(owner);
    if (files?.delete(held) !== true) return;
    this.count -= 1;
    if (files.size === 0) this.#byOwner.delete(owner);
  }
}
