// What work on untrusted bytes consists of, said where it is done, so that a test can count how much is done between two looks at the
// time without a clock.
//   WK1. Outside tests nobody counts, and saying it costs one comparison: it is said once for a text, an object or a hash, never
//        for each byte.
//   WK2. What is said grows with the time that is taken, in whichever way an input makes it grow.

/**
 * What each takes, in nanoseconds, on the machine whose figures docs/hardening.md has: a byte that is read, decoded, written or
 * hashed; a value or member of JSON; a character that the content rules look at, and one in a text that may break them; a step in
 * the comparison of a name with a known one; a fault that is found; a price that is compared with the one before it; a hash and a
 * signature, besides their bytes.
 */
export const workCosts = {
  byte: 3,
  value: 60,
  character: 25,
  tellingCharacter: 900,
  comparison: 25,
  fault: 1_000,
  price: 1_000,
  hash: 1_000,
  signature: 150_000,
} as const;

/** @internal for tests: the most work at a stretch, in milliseconds by these costs: it takes less than 50 ms there. */
export const workMsMax = 25;

export type WorkKind = keyof typeof workCosts;
export type WorkObserver = (kind: WorkKind, times: number) => void;

let observer: WorkObserver | null = null;

/** Says that work of this kind is done so many times (WK2). */
export function noteWork(kind: WorkKind, times: number): void {
  if (observer !== null) observer(kind, times);
}

/** @internal for tests: from now on all work of this process is reported; null ends it. */
export function observeWork(next: WorkObserver | null): void {
  observer = next;
}

// Whose work is next, where it takes the one thread that all share: what one owner asks for may be dear, or much, and would keep all
// others waiting for as long as it likes.
//   OT1. Work begins at once while such work has taken less than `stretchMs` of the present turn of the event loop. Further work waits for
//        the next turn, and between them everything else has its own.
//   OT2. Turns go round the owners that wait; of one owner, the first to come goes first. Between two pieces of work of one owner, each
//        other owner that waited all the time had one.
//   OT3. An owner that nothing waits for is forgotten.
// What another machine does takes hardly any time here, so it never waits.

/** Does the work at once, or in its turn. */
export type OwnerTurns = <T>(owner: string, work: () => T | Promise<T>) => T | Promise<T>;

export function createOwnerTurns(
  stretchMs: number,
  { nowMs, nextTurn }: Pick<EventLoop, "nowMs" | "nextTurn">,
): OwnerTurns {
  const waiting = new OwnerQueue();
  let spentMs = 0;
  let isScheduled = false;
  const begin = <T>(work: () => T | Promise<T>): T | Promise<T> => {
    const startedMs = nowMs();
    try {
      return work();
    } finally {
      spentMs += nowMs() - startedMs;
      if (spentMs >= stretchMs) schedule();
    }
  };
  const schedule = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    nextTurn(takeTurn);
  };
  const takeTurn = (): void => {
    isScheduled = false;
    spentMs = 0;
    while (waiting.owners > 0 && spentMs < stretchMs) waiting.next()?.entry();
    if (waiting.owners > 0) schedule();
  };
  return (owner, work) => {
    if (waiting.owners === 0 && spentMs < stretchMs) return begin(work);
    schedule();
    return new Promise((resolve) => {
      // What is thrown rejects the promise as well.
      waiting.push(owner, () => resolve(new Promise((settle) => settle(begin(work)))));
    });
  };
}

// The same where others do the work, in a bounded number of places: a thread of its own, for example.
//   OP1. At most `placesMax` pieces of work are under way. One that finds a free place begins at once.
//   OP2. A place that gets free goes to the next owner that waits, in turns as of OT2.

export function createOwnerPlaces(placesMax: number): OwnerTurns {
  const waiting = new OwnerQueue<() => void>();
  let underWay = 0;
  let isFilling = false;
  const end = (): void => {
    underWay -= 1;
    // Work that ends at once, however much of it waits, must not begin within the end of the work before it.
    if (isFilling) return;
    isFilling = true;
    for (
      let next = waiting.next();
      next !== undefined;
      next = underWay < placesMax ? waiting.next() : undefined
    )
      next.entry();
    isFilling = false;
  };
  const begin = <T>(work: () => T | Promise<T>): T | Promise<T> => {
    underWay += 1;
    let isOver = true;
    try {
      const result = work();
      isOver = !(result instanceof Promise);
      if (result instanceof Promise) result.then(end, end);
      return result;
    } finally {
      if (isOver) end();
    }
  };
  return (owner, work) => {
    if (underWay < placesMax) return begin(work);
    return new Promise((resolve) => {
      // What is thrown rejects the promise as well.
      waiting.push(owner, () => resolve(new Promise((settle) => settle(begin(work)))));
    });
  };
}

interface Next<T = () => void> {
  readonly owner: string;
  readonly entry: T;
}

/** What is waited for: turns go round the owners, and of one owner the first to come goes first (OT2, OT3). */
export class OwnerQueue<T extends object = () => void> {
  /** In the order of their turns. */
  readonly #waiting = new Map<string, Set<T>>();

  get owners(): number {
    return this.#waiting.size;
  }

  push(owner: string, entry: T): void {
    const own = this.#waiting.get(owner);
    if (own === undefined) this.#waiting.set(owner, new Set([entry]));
    else own.add(entry);
  }

  next(): Next<T> | undefined {
    for (const [owner, own] of this.#waiting) {
      const [entry] = own;
      this.#waiting.delete(owner);
      if (entry === undefined) continue;
      own.delete(entry);
      if (own.size > 0) this.#waiting.set(owner, own);
      return { owner, entry };
    }
    return undefined;
  }
}

// Lets what somebody waits for go first, on the one thread that all share with work in the background.
//   R1. Work in the background takes its steps one at a time, each in a turn of its own of the event loop.
//   R2. While something is under way that somebody waits for, no step begins, except one every `patienceMs`: the background
//       is slowed down by a busy foreground, and never stopped. After a dear step in the background, none begins there for six
//       times as long as it took, or `restMsMax`: such steps take at most a seventh of a busy thread, and a process that was
//       suspended within one goes on. Only how long the last step of some work took is not known.
//   R3. Where both wait, three steps of what somebody waits for go before one of what nobody waits for.
//   R4. Among either, turns go round the owners, however many requests of one of them wait.

export interface RightOfWay {
  /** Does what somebody waits for. */
  during<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves when the next step of this owner's long work may begin, which somebody waits for, or nobody. */
  pause(owner: string, isWaitedFor?: boolean): Promise<void>;
}

/** See R2. */
const restsPerStep = 6;
/** See R2. No step takes longer than a quarter of it ({@link workMsMax}), unless its whole process was stopped meanwhile. */
const restMsMax = 200;
/** See R3. */
const inRowMax = 3;

export function createRightOfWay(patienceMs: number, { nowMs, nextTurn, after }: EventLoop): RightOfWay {
  const waiting = new StepQueue();
  let underWay = 0;
  let isTurnTaken = false;
  let endPatience: (() => void) | null = null;
  /** The step that is under way: whose it is, and since when. */
  let begun: { readonly owner: string; readonly atMs: number; readonly isWaitedFor: boolean } | null = null;
  let restsUntilMs = Number.NEGATIVE_INFINITY;
  const step = (): void => {
    const next = waiting.next(underWay > 0 && nowMs() < restsUntilMs);
    if (next === undefined) return void schedule();
    const begins = { ...next, atMs: nowMs() };
    begun = begins;
    nextTurn(() => {
      // It may have ended before, and another be under way.
      if (begun !== begins) return;
      begun = null;
      goOn();
    });
    next.entry();
  };
  const takeTurn = (): void => {
    isTurnTaken = false;
    if (begun === null) goOn();
  };
  const goOn = (): void => {
    if (underWay === 0 && !isTurnTaken) step();
    else schedule();
  };
  const schedule = (): void => {
    if (begun !== null || waiting.isEmpty) return;
    if (underWay > 0)
      endPatience ??= after(patienceMs, () => {
        endPatience = null;
        step();
      });
    else if (!isTurnTaken) {
      isTurnTaken = true;
      nextTurn(takeTurn);
    }
  };
  return {
    during: async (work) => {
      underWay += 1;
      try {
        return await work();
      } finally {
        underWay -= 1;
        if (underWay === 0) {
          endPatience?.();
          endPatience = null;
          schedule();
        }
      }
    },
    pause: (owner, isWaitedFor = false) =>
      new Promise((resolve) => {
        // The step goes on at once when its pause ends, and up to its owner's next.
        if (begun?.owner === owner) {
          const now = nowMs();
          if (!begun.isWaitedFor) restsUntilMs = now + Math.min(restsPerStep * (now - begun.atMs), restMsMax);
          begun = null;
        }
        waiting.push(owner, isWaitedFor, resolve);
        schedule();
      }),
  };
}

/** The steps that wait (R3, R4). */
class StepQueue {
  readonly #inRequests = new OwnerQueue();
  readonly #inBackground = new OwnerQueue();
  #inRow = 0;

  get isEmpty(): boolean {
    return this.#inRequests.owners + this.#inBackground.owners === 0;
  }

  push(owner: string, isWaitedFor: boolean, step: () => void): void {
    (isWaitedFor ? this.#inRequests : this.#inBackground).push(owner, step);
  }

  /** With `isResting` none of the background. */
  next(isResting: boolean): (Next & { readonly isWaitedFor: boolean }) | undefined {
    const isTurnOfBackground =
      this.#inRequests.owners === 0 || (this.#inRow >= inRowMax && this.#inBackground.owners > 0);
    const isWaitedFor = isResting || !isTurnOfBackground;
    const next = (isWaitedFor ? this.#inRequests : this.#inBackground).next();
    if (next === undefined) return undefined;
    this.#inRow = isWaitedFor ? this.#inRow + 1 : 0;
    return { ...next, isWaitedFor };
  }
}

// The event loop as what shares one thread sees it: a port, because the simulator drives the same code in simulated time.

export interface EventLoop {
  /** Monotonic. */
  readonly nowMs: () => number;
  /** Runs in the next turn, after what is due. */
  readonly nextTurn: (run: () => void) => void;
  /** Runs after at least this many milliseconds, unless it is cancelled. */
  readonly after: (delayMs: number, run: () => void) => () => void;
}

// How long work may keep the one thread that all share. Steps that are counted in records or bytes are as long as the dearest of them,
// so loops over what callers send look at the time instead, once for each item.
//   PC1. The time is that of all work of this turn of the event loop, of everybody, from its first look on.
//   PC2. Work that is not due goes on without a promise, so that a look costs no more than reading the clock.

/**
 * To be called before each item: null, or a promise to await first, since the work of this turn has lasted for a step. A function that
 * always pauses is a pace as well.
 */
export type Pace = () => Promise<void> | null;

/** The pace of what is done for an owner. */
export type PaceOf = (owner: string) => Pace;

export interface PacePorts {
  readonly nowMs: () => number;
  /** Runs in the next turn of the event loop. */
  readonly nextTurn: (run: () => void) => void;
  /** Resolves when the next step of the owner may begin, in another turn. */
  readonly pause: (owner: string) => Promise<void>;
}

export function createPace(stepMs: number, { nowMs, nextTurn, pause }: PacePorts): PaceOf {
  let sinceMs: number | null = null;
  const endTurn = (): void => {
    sinceMs = null;
  };
  return (owner) => () => {
    const now = nowMs();
    if (sinceMs === null) {
      sinceMs = now;
      nextTurn(endTurn);
      return null;
    }
    return now - sinceMs < stepMs ? null : pause(owner);
  };
}

// Long work as a generator that yields between its steps, so that its caller decides what happens in between.

/** Runs the work at a pace, which it looks at after each step; work that is never due is done without a promise. */
export function inSteps<R>(work: Generator<void, R>, pace: Pace): R | Promise<R> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    const due = pace();
    if (due !== null) return goOn(work, pace, due);
  }
}

async function goOn<R>(work: Generator<void, R>, pace: Pace, due: Promise<void>): Promise<R> {
  await due;
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    const again = pace();
    if (again !== null) await again;
  }
}

/** Runs the work at once. */
export function atOnce<R>(work: Generator<void, R>): R {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
