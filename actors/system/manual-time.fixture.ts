// Time that moves only when a test moves it.

import type { TimerPort } from "./ports.ts";

interface Scheduled {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

/** How far `run` advances time for one promise. */
const patienceMs = 60_000;
const stepMs = 10;

export class ManualTime implements TimerPort {
  #nowMs: number;
  #order = 0;
  #scheduled: Scheduled[] = [];
  /** Called after everything that happens. */
  probe: () => void = () => {};
  /** Whether real work is under way, such as a write to a disk: time stands still until it ends. */
  isWorking: () => boolean = () => false;

  constructor(startMs = 1_000_000) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  schedule(delayMs: number, run: () => void): () => void {
    this.#order += 1;
    const scheduled = { atMs: this.#nowMs + delayMs, order: this.#order, run };
    this.#scheduled.push(scheduled);
    return () => {
      this.#scheduled = this.#scheduled.filter((each) => each !== scheduled);
    };
  }

  /** Runs everything that is ready, without advancing time. */
  async settle(): Promise<void> {
    // Every step is a microtask, and all microtasks run before the next immediate.
    do await new Promise((resolve) => setImmediate(resolve));
    while (this.isWorking());
  }

  /** Advances time, running what becomes due in order. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await this.settle();
    for (let next = this.#nextUntil(untilMs); next !== null; next = this.#nextUntil(untilMs)) {
      this.#scheduled.splice(this.#scheduled.indexOf(next), 1);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.run();
      await this.settle();
      this.probe();
    }
    this.#nowMs = untilMs;
  }

  /** Runs `promise` to its end, advancing time as far as needed; throws after a minute of it. */
  async run<T>(promise: Promise<T>): Promise<T> {
    let isOver = false;
    const done = promise.finally(() => {
      isOver = true;
    });
    done.catch(() => {});
    for (let passedMs = 0; !isOver; passedMs += stepMs) {
      if (passedMs > patienceMs) throw new Error("nothing came of it in a minute");
      await this.advance(stepMs);
    }
    return done;
  }

  #nextUntil(untilMs: number): Scheduled | null {
    let next: Scheduled | null = null;
    for (const each of this.#scheduled) {
      if (each.atMs > untilMs) continue;
      const isEarlier =
        next === null || each.atMs < next.atMs || (each.atMs === next.atMs && each.order < next.order);
      if (isEarlier) next = each;
    }
    return next;
  }
}
