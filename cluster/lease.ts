// A node's right to act, as it sees it itself.
//   L1. It ends when the last beat or the last look at the view that showed the node *began* longer ago than the lease
//       lasts: what counts is when the question was asked, for the answer may have been long on its way.
//   L2. Once it has ended it is never held again: a beat that is confirmed too late comes too late.
//   L3. It is asked for, never announced: after a pause the first question finds it ended, whatever runs first.

export class Lease {
  readonly #leaseMs: number;
  #beatBeganMs: number;
  #viewBeganMs: number;
  #ended = false;

  /** The instants on the node's monotonic clock at which its first beat and its entry into the view began. */
  constructor(leaseMs: number, began: { readonly beatMs: number; readonly viewMs: number }) {
    this.#leaseMs = leaseMs;
    this.#beatBeganMs = began.beatMs;
    this.#viewBeganMs = began.viewMs;
  }

  isHeld(nowMs: number): boolean {
    if (nowMs - Math.min(this.#beatBeganMs, this.#viewBeganMs) > this.#leaseMs) this.#ended = true;
    return !this.#ended;
  }

  /** A beat that began at `beganMs` is confirmed now (L2). */
  noteBeat(beganMs: number, nowMs: number): void {
    if (this.isHeld(nowMs)) this.#beatBeganMs = Math.max(this.#beatBeganMs, beganMs);
  }

  /** A look at the view that began at `beganMs` has shown the node now (L2). */
  noteView(beganMs: number, nowMs: number): void {
    if (this.isHeld(nowMs)) this.#viewBeganMs = Math.max(this.#viewBeganMs, beganMs);
  }

  /** Milliseconds until it ends, unless it is renewed; 0 when it has. */
  remainingMs(nowMs: number): number {
    if (!this.isHeld(nowMs)) return 0;
    return Math.min(this.#beatBeganMs, this.#viewBeganMs) + this.#leaseMs - nowMs;
  }
}
