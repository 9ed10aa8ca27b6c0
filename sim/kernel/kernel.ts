// The one event loop of a simulated world: virtual time, and everything that happens in it one after the other.
//   K1. Time moves only from one event to the next; an event runs with everything that it made ready, down to the
//       last microtask, before the next is taken.
//   K2. Events of one instant run in the order in which they were asked for.
//   K3. What belongs to a life that is over never happens; what belongs to one that sleeps happens when it wakes.
//   K4. Nothing but an event moves the world. When none is left and somebody still waits, something outside the
//       simulator's reach was waited for, and the run says so.

import { EventHeap, type EventOwner, type SimEvent } from "./event-heap.ts";
import type { Trace } from "./trace.ts";

export type Cancel = () => void;

export interface KernelOptions {
  /** Unix milliseconds at which the world begins. */
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

  /** Unix milliseconds of the world, which no node's clock need show. */
  now(): number {
    return this.#nowMs;
  }

  /** Milliseconds since the world began. */
  elapsed(): number {
    return this.#nowMs - this.startMs;
  }

  /** Lets `run` happen `delayMs` from now, unless it is cancelled or `life` is over by then (K3). */
  after(delayMs: number, label: string, run: () => void, life: EventOwner | null = null): Cancel {
    this.#order += 1;
    const atMs = this.#nowMs + Math.max(0, Math.ceil(delayMs));
    const event: SimEvent = { atMs, order: this.#order, label, run, life };
    this.#heap.push(event);
    return () => {
      event.run = null;
    };
  }

  /** Puts back what a sleeping life missed, in its order. */
  wake(missed: readonly SimEvent[]): void {
    for (const event of missed) {
      this.#order += 1;
      this.#heap.push({ ...event, atMs: this.#nowMs, order: this.#order });
    }
  }

  /** A line of the story, part of the trace. */
  tell(what: string, detail?: () => string): void {
    this.trace.tell(this.elapsed(), what, detail);
  }

  /** Runs until `stop` says so after an event, or nothing is left to happen. Rejects with what an event throws. */
  run(stop: () => boolean): Promise<"stopped" | "nothing left"> {
    return new Promise((resolve, reject) => {
      // The tick queue is looked at again only when all microtasks have run, those that microtasks asked for
      // included: asking for the next tick from a microtask is what K1 rests on.
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

  /** False when nothing is left to happen. */
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
