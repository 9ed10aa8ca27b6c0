// Fair queueing by owner (RFC 970): who gets the next of a bounded number of places, where one owner may ask for many of
// them. It has no clock and no timer: every call states the time and returns what was decided.
//   Q1. At most `placesMax` holders have a place, and at most `placesPerOwnerMax` of one owner.
//   Q2. Nobody waits for a place that is free for its owner.
//   Q3. Places go round the owners: between two places of one owner, each other owner that waited all the time and was
//       below its bound got one. Of one owner, the first to come is the first to be placed.
//   Q4. At most `waitingMax` wait. When one more comes, the youngest of the owner with most waiting is turned away, which
//       may be the newcomer: an owner that fills the queue takes the room from itself.
//   Q5. Nobody waits for longer than `waitMs`.
//   Q6. A holder that is not settled keeps a place that others wait for no longer than `unsettledMs`.
//   Q7. A holder that left or was turned away has no part in any later decision, and an owner without holders is
//       forgotten.

export interface FairQueueLimits {
  readonly placesMax: number;
  readonly placesPerOwnerMax: number;
  readonly waitingMax: number;
  readonly waitMs: number;
  readonly unsettledMs: number;
}

/** `full` and `late` turn away a holder that waited (Q4, Q5), `slow` one that had a place (Q6). */
export type Verdict = "placed" | "full" | "late" | "slow";

export interface Decision<H> {
  readonly holder: H;
  readonly verdict: Verdict;
}

interface Owner<H> {
  readonly name: string;
  /** The first to come first. */
  readonly waiting: Set<H>;
  placed: number;
}

interface Waiting<H> {
  readonly owner: Owner<H>;
  readonly isSettled: boolean;
  readonly cameMs: number;
}

interface Placed<H> {
  readonly owner: Owner<H>;
  readonly placedMs: number;
}

export class FairQueue<H extends object> {
  readonly #limits: FairQueueLimits;
  readonly #owners = new Map<string, Owner<H>>();
  /** The owners that wait, in the order of their turns. */
  readonly #turns = new Set<Owner<H>>();
  /** The first to come first. */
  readonly #waiting = new Map<H, Waiting<H>>();
  readonly #placed = new Map<H, Placed<H>>();
  /** Those of the placed that are not settled, the first to be placed first. */
  readonly #unsettled = new Set<H>();

  constructor(limits: FairQueueLimits) {
    this.#limits = limits;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  get placed(): number {
    return this.#placed.size;
  }

  /** Each holder enters once. Not settled is one that still has to be waited for once it is placed. */
  enter(
    holder: H,
    {
      owner: name,
      isSettled,
      nowMs,
    }: { readonly owner: string; readonly isSettled: boolean; readonly nowMs: number },
  ): readonly Decision<H>[] {
    const owner = this.#owners.get(name) ?? { name, waiting: new Set(), placed: 0 };
    this.#owners.set(name, owner);
    owner.waiting.add(holder);
    this.#turns.add(owner);
    this.#waiting.set(holder, { owner, isSettled, cameMs: nowMs });
    const placed = this.#place(nowMs);
    if (this.#waiting.size <= this.#limits.waitingMax) return placed;
    const youngest = this.#youngestOf(this.#busiest(owner)) ?? holder;
    this.#stopWaiting(youngest);
    return [...placed, { holder: youngest, verdict: "full" }];
  }

  /** For a holder with a place that nothing more has to be waited for. */
  settle(holder: H): void {
    this.#unsettled.delete(holder);
  }

  /** For a holder that is done or gone; one that is not here any more changes nothing. */
  leave(holder: H, nowMs: number): readonly Decision<H>[] {
    if (this.#stopWaiting(holder) || !this.#giveBack(holder)) return [];
    return this.#place(nowMs);
  }

  /** To be called again and again while anybody waits. */
  expire(nowMs: number): readonly Decision<H>[] {
    const { waitMs, unsettledMs } = this.#limits;
    const decided: Decision<H>[] = [];
    for (const [holder, { cameMs }] of this.#waiting) {
      if (nowMs - cameMs < waitMs) break;
      this.#stopWaiting(holder);
      decided.push({ holder, verdict: "late" });
    }
    for (const holder of this.#unsettled) {
      const placed = this.#placed.get(holder);
      if (placed === undefined || nowMs - placed.placedMs < unsettledMs) break;
      if (!this.#isWanted(placed.owner)) continue;
      this.#giveBack(holder);
      decided.push({ holder, verdict: "slow" }, ...this.#place(nowMs));
    }
    return decided;
  }

  #place(nowMs: number): readonly Decision<H>[] {
    const decided: Decision<H>[] = [];
    for (;;) {
      const owner = this.#nextOwner();
      const [holder] = owner?.waiting ?? [];
      if (owner === null || holder === undefined) return decided;
      if (this.#waiting.get(holder)?.isSettled === false) this.#unsettled.add(holder);
      owner.placed += 1;
      this.#placed.set(holder, { owner, placedMs: nowMs });
      this.#stopWaiting(holder);
      if (this.#turns.delete(owner)) this.#turns.add(owner);
      decided.push({ holder, verdict: "placed" });
    }
  }

  /** Passes over at most as many as have all the places that they may have. */
  #nextOwner(): Owner<H> | null {
    if (this.#placed.size >= this.#limits.placesMax) return null;
    for (const owner of this.#turns) if (owner.placed < this.#limits.placesPerOwnerMax) return owner;
    return null;
  }

  /** Whether somebody could have a place of this owner. */
  #isWanted(owner: Owner<H>): boolean {
    if (owner.waiting.size > 0) return true;
    const isFull = this.#placed.size >= this.#limits.placesMax;
    return isFull && [...this.#turns].some(({ placed }) => placed < this.#limits.placesPerOwnerMax);
  }

  #busiest(newcomer: Owner<H>): Owner<H> {
    let busiest = newcomer;
    for (const owner of this.#turns) if (owner.waiting.size > busiest.waiting.size) busiest = owner;
    return busiest;
  }

  #youngestOf({ waiting }: Owner<H>): H | null {
    let youngest: H | null = null;
    for (const holder of waiting) youngest = holder;
    return youngest;
  }

  #stopWaiting(holder: H): boolean {
    const owner = this.#waiting.get(holder)?.owner;
    if (owner === undefined) return false;
    this.#waiting.delete(holder);
    owner.waiting.delete(holder);
    if (owner.waiting.size === 0) this.#turns.delete(owner);
    this.#forgetIdle(owner);
    return true;
  }

  #giveBack(holder: H): boolean {
    const owner = this.#placed.get(holder)?.owner;
    if (owner === undefined) return false;
    this.#placed.delete(holder);
    this.#unsettled.delete(holder);
    owner.placed -= 1;
    this.#forgetIdle(owner);
    return true;
  }

  #forgetIdle(owner: Owner<H>): void {
    if (owner.placed === 0 && owner.waiting.size === 0) this.#owners.delete(owner.name);
  }
}

// Turns of work that is over within a bounded time, so that nobody is turned away for having waited.

/** Resolves with a function that ends the turn; null if there is no room to wait for one. */
export type FairTurns = (owner: string) => Promise<(() => void) | null>;

/** Each owner has one turn at a time. */
export function createFairTurns(limits: Pick<FairQueueLimits, "placesMax" | "waitingMax">): FairTurns {
  const queue = new FairQueue<{ readonly decide: (isPlaced: boolean) => void }>({
    ...limits,
    placesPerOwnerMax: 1,
    waitMs: Number.POSITIVE_INFINITY,
    unsettledMs: Number.POSITIVE_INFINITY,
  });
  const tell = (decided: ReturnType<typeof queue.leave>): void => {
    for (const { holder, verdict } of decided) holder.decide(verdict === "placed");
  };
  return async (owner) => {
    const waiting = { decide: (_isPlaced: boolean): void => {} };
    const isPlaced = new Promise<boolean>((resolve) => {
      waiting.decide = resolve;
    });
    tell(queue.enter(waiting, { owner, isSettled: true, nowMs: 0 }));
    return (await isPlaced) ? () => tell(queue.leave(waiting, 0)) : null;
  };
}
