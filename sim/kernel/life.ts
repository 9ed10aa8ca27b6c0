// One run of a process: a crash ends it, and a pause suspends it. Ports that a process holds belong to its life: what
// they would have reported to it is dropped once it is over.

import type { Cancel, EventOwner, Kernel, SimEvent } from "./kernel.ts";

export class Life implements EventOwner {
  readonly name: string;
  isOver = false;
  isAsleep = false;
  /** For a suspended life: the events that came due in the meantime. */
  missed: SimEvent[] = [];
  readonly #kernel: Kernel;
  readonly #endings: (() => void)[] = [];

  constructor(kernel: Kernel, name: string) {
    this.#kernel = kernel;
    this.name = name;
  }

  /** Kills the process immediately. */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.missed = [];
    for (const ending of this.#endings) ending();
  }

  /** Called when the life ends. */
  onEnd(ending: () => void): void {
    this.#endings.push(ending);
  }

  sleep(): void {
    this.isAsleep = true;
  }

  wake(): void {
    if (!this.isAsleep) return;
    this.isAsleep = false;
    const { missed } = this;
    this.missed = [];
    this.#kernel.wake(missed);
  }

  after(delayMs: number, label: string, run: () => void): Cancel {
    return this.isOver ? () => {} : this.#kernel.after(delayMs, label, run, this);
  }

  /** A promise that never settles: what a terminated process waits for. */
  never<T>(): Promise<T> {
    return new Promise(() => {});
  }
}
