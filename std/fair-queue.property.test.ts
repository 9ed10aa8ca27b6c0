import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Decision, FairQueue, type FairQueueLimits } from "./fair-queue.ts";

interface Holder {
  readonly owner: string;
  readonly cameMs: number;
  settled: boolean;
  placedMs: number | null;
  ended: "left" | "full" | "late" | "slow" | null;
  /** How many places had been given to anybody when it came. */
  readonly givenBefore: number;
}

/** Keeps its own books of every decision, by which the queue is judged. */
class Driven {
  readonly limits: FairQueueLimits;
  readonly queue: FairQueue<Holder>;
  readonly holders: Holder[] = [];
  /** The owners of all places that were given, in their order. */
  readonly given: string[] = [];
  nowMs = 0;

  constructor(limits: FairQueueLimits) {
    this.limits = limits;
    this.queue = new FairQueue(limits);
  }

  get waiting(): readonly Holder[] {
    return this.holders.filter(({ placedMs, ended }) => placedMs === null && ended === null);
  }

  get placed(): readonly Holder[] {
    return this.holders.filter(({ placedMs, ended }) => placedMs !== null && ended === null);
  }

  of(all: readonly Holder[], owner: string): readonly Holder[] {
    return all.filter((each) => each.owner === owner);
  }

  enter(owner: string, isSettled: boolean): Holder {
    const holder: Holder = {
      owner,
      settled: isSettled,
      cameMs: this.nowMs,
      givenBefore: this.given.length,
      placedMs: null,
      ended: null,
    };
    this.holders.push(holder);
    this.#note(this.queue.enter(holder, { owner, isSettled, nowMs: this.nowMs }));
    return holder;
  }

  leave(holder: Holder): void {
    const isHere = holder.ended === null;
    holder.ended ??= "left";
    if (!isHere) must(this.queue.leave(holder, this.nowMs).length === 0, "Q7: leaving twice changes nothing");
    else this.#note(this.queue.leave(holder, this.nowMs));
  }

  settle(holder: Holder): void {
    if (holder.placedMs === null) return;
    holder.settled = true;
    this.queue.settle(holder);
  }

  pass(ms: number): void {
    this.nowMs += ms;
    this.#note(this.queue.expire(this.nowMs));
    this.judgeTime();
  }

  #note(decided: readonly Decision<Holder>[]): void {
    for (const { holder, verdict } of decided) {
      must(holder.ended === null, "Q7: who left is not decided about");
      must((holder.placedMs !== null) === (verdict === "slow"), "only a place can be taken back");
      if (verdict === "placed") this.#judgePlaced(holder);
      else if (verdict === "full") this.#judgeFull(holder);
      else if (verdict === "slow") this.#judgeSlow(holder);
      else must(this.nowMs - holder.cameMs >= this.limits.waitMs, "Q5: nobody is turned away early");
      if (verdict !== "placed") holder.ended = verdict;
    }
    this.#judge();
  }

  /** Q3, within an owner and between owners. */
  #judgePlaced(holder: Holder): void {
    const rivals = this.waiting.filter((each) => each !== holder);
    const own = this.of(rivals, holder.owner);
    must(
      own.every(({ cameMs }) => cameMs >= holder.cameMs),
      "Q3: the first to come is the first to be placed",
    );
    holder.placedMs = this.nowMs;
    const last = this.given.lastIndexOf(holder.owner);
    this.given.push(holder.owner);
    if (last < 0) return;
    const between = this.given.slice(last + 1, -1);
    for (const rival of new Set(rivals.map(({ owner }) => owner))) {
      if (rival === holder.owner) continue;
      const waitedAllTheTime = (this.of(rivals, rival)[0]?.givenBefore ?? Number.NaN) <= last;
      const isAtBound = this.of(this.placed, rival).length >= this.limits.placesPerOwnerMax;
      must(!waitedAllTheTime || isAtBound || between.includes(rival), "Q3: places go round");
    }
  }

  #judgeFull(holder: Holder): void {
    const { waiting } = this;
    const own = this.of(waiting, holder.owner);
    must(waiting.length > this.limits.waitingMax, "Q4: only a full queue turns away");
    must(
      own.every(({ cameMs }) => cameMs <= holder.cameMs),
      "Q4: its youngest",
    );
    must(
      waiting.every(({ owner }) => this.of(waiting, owner).length <= own.length),
      "Q4: of the owner with most",
    );
  }

  #judgeSlow(holder: Holder): void {
    must(!holder.settled && this.#isOverdue(holder), "Q6: only who was slow for long");
    must(this.waiting.length > 0, "Q6: only while others wait");
  }

  #isOverdue({ settled, placedMs }: Holder): boolean {
    return !settled && placedMs !== null && this.nowMs - placedMs >= this.limits.unsettledMs;
  }

  /** Whether somebody waits who could have one more place if there was one. */
  #isWanted({ owner }: Holder): boolean {
    const { waiting, placed } = this;
    const isBelow = (each: Holder): boolean =>
      this.of(placed, each.owner).length < this.limits.placesPerOwnerMax;
    return (
      this.of(waiting, owner).length > 0 || (placed.length === this.limits.placesMax && waiting.some(isBelow))
    );
  }

  #judge(): void {
    const { placesMax, placesPerOwnerMax, waitingMax } = this.limits;
    const { waiting, placed } = this;
    must(placed.length <= placesMax, "Q1");
    must(waiting.length <= waitingMax, "Q4");
    must(this.queue.waiting === waiting.length && this.queue.placed === placed.length, "Q7: nobody is lost");
    for (const { owner } of [...waiting, ...placed]) {
      const own = this.of(placed, owner).length;
      must(own <= placesPerOwnerMax, "Q1 of an owner");
      if (this.of(waiting, owner).length > 0 && own < placesPerOwnerMax)
        must(placed.length === placesMax, "Q2: nobody waits for a free place");
    }
  }

  /** What holds once time was noticed. */
  judgeTime(): void {
    must(
      this.waiting.every(({ cameMs }) => this.nowMs - cameMs < this.limits.waitMs),
      "Q5",
    );
    must(!this.placed.some((each) => this.#isOverdue(each) && this.#isWanted(each)), "Q6");
  }
}

/** Many are asked of each step: an assertion of the test framework would take most of the time. */
function must(holds: boolean, words: string): void {
  if (!holds) throw new Error(words);
}

const limits = fc.record({
  placesMax: fc.integer({ min: 1, max: 4 }),
  placesPerOwnerMax: fc.integer({ min: 1, max: 4 }),
  waitingMax: fc.integer({ min: 1, max: 8 }),
  waitMs: fc.constant(1_000),
  unsettledMs: fc.constant(200),
});

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ enter: fc.constantFrom("a", "b", "c", "d"), isSettled: fc.boolean() }),
  },
  { weight: 4, arbitrary: fc.record({ leave: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ settle: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ passMs: fc.oneof(fc.nat(50), fc.nat(1_200)) }) },
);

function drive(
  driven: Driven,
  steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[],
): void {
  for (const each of steps) {
    const here = driven.holders.filter(({ ended }) => ended === null);
    const some = (index: number): Holder | undefined => here[index % Math.max(1, here.length)];
    if ("enter" in each) driven.enter(each.enter, each.isSettled);
    else if ("passMs" in each) driven.pass(each.passMs);
    else if ("leave" in each) {
      const holder = some(each.leave);
      if (holder !== undefined) driven.leave(holder);
    } else {
      const holder = some(each.settle);
      if (holder !== undefined) driven.settle(holder);
    }
  }
}

describe("a fair queue", () => {
  it("keeps its bounds, its rounds and its books, whatever its holders do", () => {
    fc.assert(
      fc.property(limits, fc.array(step, { maxLength: 50, size: "max" }), (given, steps) => {
        const driven = new Driven(given);
        drive(driven, steps);
        // Q7: nothing remains of those who have left.
        for (const holder of driven.holders) driven.leave(holder);
        expect([driven.queue.waiting, driven.queue.placed]).toEqual([0, 0]);
        driven.enter("a", true);
        expect(driven.holders.at(-1)?.placedMs).toBe(driven.nowMs);
      }),
    );
  });

  it("lets a newcomer in after one turn of each owner, however many of them wait", () => {
    const driven = new Driven({
      placesMax: 1,
      placesPerOwnerMax: 1,
      waitingMax: 100,
      waitMs: 10_000,
      unsettledMs: 2_000,
    });
    for (let count = 0; count < 20; count += 1) driven.enter("busy", true);
    for (let count = 0; count < 20; count += 1) driven.enter("other", true);
    const newcomer = driven.enter("new", true);
    for (let turns = 0; turns < 3; turns += 1) for (const placed of driven.placed) driven.leave(placed);
    expect(newcomer.placedMs).not.toBeNull();
  });

  it("takes the room from the owner that fills it", () => {
    const driven = new Driven({
      placesMax: 1,
      placesPerOwnerMax: 1,
      waitingMax: 3,
      waitMs: 10_000,
      unsettledMs: 2_000,
    });
    const [placed, first, second, third] = ["a", "a", "a", "a"].map((owner) => driven.enter(owner, true));
    const other = driven.enter("b", true);
    expect([placed, first, second, third, other].map((each) => each?.ended)).toEqual([
      null,
      null,
      null,
      "full",
      null,
    ]);
    expect(driven.enter("a", true).ended).toBe("full");
  });

  it("takes a place from a holder that is not settled only when another could have it", () => {
    const driven = new Driven({
      placesMax: 2,
      placesPerOwnerMax: 1,
      waitingMax: 9,
      waitMs: 10_000,
      unsettledMs: 2_000,
    });
    const [slow, settled] = [driven.enter("a", false), driven.enter("b", false)];
    driven.settle(settled);
    driven.pass(5_000);
    expect([slow.ended, settled.ended]).toEqual([null, null]);
    const more = driven.enter("b", true);
    driven.pass(1);
    expect([slow.ended, more.placedMs]).toEqual([null, null]);
    const third = driven.enter("c", true);
    driven.pass(1);
    expect([slow.ended, third.placedMs, settled.ended]).toEqual(["slow", driven.nowMs, null]);
  });
});
