// A node's right to act, as the node itself sees it.
//   L1. It ends when the last heartbeat, or the last read of the view that showed the node, *began* longer ago than the lease
//       lasts: what counts is when the request was sent, because the answer may have been on its way for long.
//   L2. Once it has ended, it is never held again: a heartbeat that is confirmed too late does not renew it.
//   L3. It is checked, never announced: after a pause the first check finds it ended, whatever runs first.

export class Lease {
  readonly #leaseMs: number;
  #beatBeganMs: number;
  #viewBeganMs: number;
  #ended = false;

  /** Takes the instants on the node's monotonic clock at which its first heartbeat and its entry into the view began. */
  constructor(leaseMs: number, began: { readonly beatMs: number; readonly viewMs: number }) {
    this.#leaseMs = leaseMs;
    this.#beatBeganMs = began.beatMs;
    this.#viewBeganMs = began.viewMs;
  }

  isHeld(nowMs: number): boolean {
    if (nowMs - Math.min(this.#beatBeganMs, this.#viewBeganMs) > this.#leaseMs) this.#ended = true;
    return !this.#ended;
  }

  /** A heartbeat that began at `beganMs` is confirmed now (L2). */
  noteBeat(beganMs: number, nowMs: number): void {
    if (this.isHeld(nowMs)) this.#beatBeganMs = Math.max(this.#beatBeganMs, beganMs);
  }

  /** A read of the view that began at `beganMs` has shown the node now (L2). */
  noteView(beganMs: number, nowMs: number): void {
    if (this.isHeld(nowMs)) this.#viewBeganMs = Math.max(this.#viewBeganMs, beganMs);
  }

  /** Milliseconds until it ends unless it is renewed; 0 if it has ended. */
  remainingMs(nowMs: number): number {
    if (!this.isHeld(nowMs)) return 0;
    return Math.min(this.#beatBeganMs, this.#viewBeganMs) + this.#leaseMs - nowMs;
  }
}
