// Room that is shared by what arrives slowly, as its senders like: bytes of bodies, or places of files.
//   SR1. At most `max` is held at once, and `perOwnerMax` by one owner.
//   SR2. Where the room is full, a newcomer gets some of the owner that holds most, as long as that one holds more than the
//        newcomer's owner then will: an owner that holds much gives way while others wait. The youngest of what it has
//        arriving ends, which has lost least. Nothing ends where that would not make room enough.
//   SR3. What has arrived as a whole does not end. What has to end is told so once, and gives back nothing more.

export interface Holding {
  /** Takes so much more of the room; false if it is not there. */
  take(amount: number): boolean;
  /** It arrives no longer, and keeps what it holds until it is released. */
  arrived(): void;
  release(): void;
}

interface Held {
  amount: number;
  /** Gives back what is held. */
  release(): void;
  readonly end: () => void;
}

interface Holder {
  amount: number;
  /** The oldest first. */
  readonly arriving: Set<Held>;
}

export class SharedRoom {
  readonly #max: number;
  readonly #perOwnerMax: number;
  readonly #byOwner = new Map<string, Holder>();
  total = 0;

  constructor(max: number, perOwnerMax: number) {
    this.#max = max;
    this.#perOwnerMax = perOwnerMax;
  }

  /** Something of an owner that arrives, and holds nothing yet. `end` is called if it has to make room for others. */
  open(owner: string, end: () => void): Holding {
    const held: Held = { amount: 0, end, release: () => this.#release(owner, held) };
    return {
      take: (amount) => this.#take(owner, held, amount),
      arrived: () => void this.#byOwner.get(owner)?.arriving.delete(held),
      release: held.release,
    };
  }

  #take(owner: string, held: Held, amount: number): boolean {
    const own = (this.#byOwner.get(owner)?.amount ?? 0) + amount;
    if (own > this.#perOwnerMax) return false;
    const ending = this.#inTheWay(own, this.total + amount - this.#max);
    if (ending === null) return false;
    for (const each of ending) each.release();
    const holder = this.#byOwner.get(owner) ?? { amount: 0, arriving: new Set() };
    this.#byOwner.set(owner, holder);
    holder.arriving.add(held);
    holder.amount += amount;
    held.amount += amount;
    this.total += amount;
    for (const { end } of ending) end();
    return true;
  }

  /** What has to end so that as much as is missing becomes free for an owner that will hold `own`; null if it does not. */
  #inTheWay(own: number, missing: number): readonly Held[] | null {
    if (missing <= 0) return [];
    const holders = [...this.#byOwner.values()]
      .filter(({ amount }) => amount > own)
      .map(({ amount, arriving }) => ({ amount, arriving: [...arriving] }));
    const ending: Held[] = [];
    for (let left = missing; left > 0; ) {
      let most: (typeof holders)[number] | null = null;
      for (const each of holders)
        if (each.arriving.length > 0 && each.amount > (most?.amount ?? own)) most = each;
      const youngest = most?.arriving.pop();
      if (most === null || youngest === undefined) return null;
      most.amount -= youngest.amount;
      left -= youngest.amount;
      ending.push(youngest);
    }
    return ending;
  }

  #release(owner: string, held: Held): void {
    const holder = this.#byOwner.get(owner);
    if (holder === undefined) return;
    holder.arriving.delete(held);
    holder.amount -= held.amount;
    this.total -= held.amount;
    held.amount = 0;
    if (holder.amount === 0) this.#byOwner.delete(owner);
  }
}
