// The single event loop of a simulated world: virtual time, and everything that happens in it, one event after another.
//   K1. Time advances only from one event to the next; an event runs with everything that it made ready, down to the
//       last microtask, before the next is taken.
//   K2. Events of one instant run in the order in which they were scheduled.
//   K3. Events of a life that is over never run; events of a suspended life run when it wakes.
//   K4. Only events move the world. When none is left and something still waits, it waits for something outside the
//       simulator's reach, and the run reports it.
//   K5. An event takes no time unless it spends some, which only worlds of one node do: its thread keeps everything else waiting.

// Scheduled events, earliest first: a binary heap ordered by (time, order).

/** The owner of events: a crash ends it, and a pause suspends it (K3 in kernel.ts). */
export interface EventOwner {
  readonly isOver: boolean;
  readonly isAsleep: boolean;
  /** For a suspended owner: the events that came due in the meantime. */
  readonly missed: SimEvent[];
}

export interface SimEvent {
  /** The world's time in Unix milliseconds. */
  readonly atMs: number;
  readonly order: number;
  readonly label: string;
  /** Null once cancelled. */
  run: (() => void) | null;
  /** Null for the world's own events. */
  readonly life: EventOwner | null;
}

class EventHeap {
  readonly #events: SimEvent[] = [];

  push(event: SimEvent): void {
    const events = this.#events;
    let index = events.length;
    events.push(event);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = events[parent] as SimEvent;
      if (isBefore(above, event)) break;
      events[index] = above;
      index = parent;
    }
    events[index] = event;
  }

  pop(): SimEvent | undefined {
    const events = this.#events;
    const first = events[0];
    const last = events.pop();
    if (first === undefined || last === undefined || events.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= events.length) break;
      const right = events[child + 1];
      if (right !== undefined && isBefore(right, events[child] as SimEvent)) child += 1;
      const below = events[child] as SimEvent;
      if (isBefore(last, below)) break;
      events[index] = below;
      index = child;
    }
    events[index] = last;
    return first;
  }
}

function isBefore(a: SimEvent, b: SimEvent): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

export type Cancel = () => void;

export interface KernelOptions {
  /** Unix milliseconds at which the world starts. */
  readonly startMs: number;
  readonly trace: Trace;
}

export class Kernel {
  readonly trace: Trace;
  readonly startMs: number;
  events = 0;
  #nowMs: number;
  #order = 0;
  readonly #heap = new EventHeap();

  constructor(options: KernelOptions) {
    this.trace = options.trace;
    this.startMs = options.startMs;
    this.#nowMs = options.startMs;
  }

  /** The world's time in Unix milliseconds, which no node's clock has to agree with. */
  now(): number {
    return Math.floor(this.#nowMs);
  }

  /** Milliseconds since the start of the world. */
  elapsed(): number {
    return this.now() - this.startMs;
  }

  /** The same, with the fractions that were spent. */
  elapsedExactly(): number {
    return this.#nowMs - this.startMs;
  }

  /** The event that runs takes time, as on a busy thread: what comes due meanwhile runs late (K5). */
  spend(ms: number): void {
    this.#nowMs += ms;
  }

  /** Schedules `run` for `delayMs` from now, unless it is cancelled or `life` is over by then (K3). */
  after(delayMs: number, label: string, run: () => void, life: EventOwner | null = null): Cancel {
    this.#order += 1;
    const atMs = this.#nowMs + Math.max(0, Math.ceil(delayMs));
    const event: SimEvent = { atMs, order: this.#order, label, run, life };
    this.#heap.push(event);
    return () => {
      event.run = null;
    };
  }

  /** Reschedules what a suspended life missed, in order. */
  wake(missed: readonly SimEvent[]): void {
    for (const event of missed) {
      this.#order += 1;
      this.#heap.push({ ...event, atMs: this.#nowMs, order: this.#order });
    }
  }

  /** Adds a line to the story; it is part of the trace. */
  tell(what: string, detail?: () => string): void {
    this.trace.tell(this.elapsed(), what, detail);
  }

  /** Runs until `stop` returns true after an event, or no event is left. Rejects with what an event throws. */
  run(stop: () => boolean): Promise<"stopped" | "nothing left"> {
    return new Promise((resolve, reject) => {
      // The tick queue is processed again only when all microtasks have run, including those that microtasks queued:
      // K1 relies on scheduling the next tick from a microtask.
      const again = (): void => process.nextTick(step);
      const step = (): void => {
        try {
          if (stop()) {
            resolve("stopped");
            return;
          }
          if (!this.#next()) {
            resolve("nothing left");
            return;
          }
        } catch (error) {
          reject(error);
          return;
        }
        queueMicrotask(again);
      };
      process.nextTick(step);
    });
  }

  /** Takes the next event; returns false when none is left. */
  #next(): boolean {
    for (;;) {
      const event = this.#heap.pop();
      if (event === undefined) return false;
      const { run, life } = event;
      if (run === null || life?.isOver === true) continue;
      if (life?.isAsleep) {
        life.missed.push(event);
        continue;
      }
      if (event.atMs > this.#nowMs) this.#nowMs = event.atMs;
      this.events += 1;
      this.trace.number(this.#nowMs & 0x7fffffff);
      this.trace.text(event.label);
      run();
      return true;
    }
  }
}

// What happened, as a hash that two runs of a seed must share, and optionally as lines for people.

/** Maximum number of lines kept of a run that records its story. */
const linesMax = 200_000;

export class Trace {
  /** What happened, oldest first; null unless the story is recorded. */
  readonly lines: string[] | null;
  #high = 0x811c9dc5;
  #low = 0x9747b28c;

  constructor(options: { readonly story: boolean }) {
    this.lines = options.story ? [] : null;
  }

  /** Sixteen hexadecimal digits over everything recorded so far. */
  get hash(): string {
    return hexOf(this.#high) + hexOf(this.#low);
  }

  number(value: number): void {
    this.#high = Math.imul(this.#high ^ (value & 0xffff), 0x01000193) >>> 0;
    this.#low = Math.imul(this.#low ^ (value >>> 16) ^ (this.#high >>> 15), 0x85ebca6b) >>> 0;
  }

  text(value: string): void {
    for (let index = 0; index < value.length; index += 1) this.number(value.charCodeAt(index));
  }

  /** Adds an entry to the hash and a line to the story. `detail` is called only when the story is recorded. */
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
