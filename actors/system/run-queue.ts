// Which activations run next: first come, first served, all in one microtask, which yields to timers and input
// after a bounded amount of work.

import type { TimerPort } from "./ports.ts";

export interface Runnable {
  queued: boolean;
  /** Does a piece of work and returns how much it was. Must not throw. */
  run(): number;
}

const settled = Promise.resolve();

export class RunQueue {
  readonly #timers: TimerPort;
  readonly #workMax: number;
  #queue: Runnable[] = [];
  #next = 0;
  #scheduled = false;

  constructor(timers: TimerPort, workMax: number) {
    this.#timers = timers;
    this.#workMax = workMax;
  }

  add(runnable: Runnable): void {
    if (runnable.queued) return;
    runnable.queued = true;
    this.#queue.push(runnable);
    if (this.#scheduled) return;
    this.#scheduled = true;
    settled.then(this.#flush);
  }

  readonly #flush = (): void => {
    let work = 0;
    while (this.#next < this.#queue.length) {
      if (work >= this.#workMax) {
        this.#timers.schedule(0, this.#flush);
        return;
      }
      const runnable = this.#queue[this.#next];
      this.#next += 1;
      if (runnable === undefined) continue;
      runnable.queued = false;
      work += runnable.run();
      if (this.#next >= this.#workMax) {
        this.#queue = this.#queue.slice(this.#next);
        this.#next = 0;
      }
    }
    this.#queue = [];
    this.#next = 0;
    this.#scheduled = false;
  };
}
