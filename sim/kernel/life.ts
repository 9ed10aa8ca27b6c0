// One run of a process: what a crash ends, and a pause lets sleep. Ports that a process holds belong to its life:
// what they would have told it is told to nobody once it is over.

import type { EventOwner, SimEvent } from "./event-heap.ts";
import type { Cancel, Kernel } from "./kernel.ts";

export class Life implements EventOwner {
  readonly name: string;
  isOver = false;
  isAsleep = false;
  /** Of a sleeping life: what came due meanwhile. */
  missed: SimEvent[] = [];
  readonly #kernel: Kernel;
  readonly #endings: (() => void)[] = [];

  constructor(kernel: Kernel, name: string) {
    this.#kernel = kernel;
    this.name = name;
  }

  /** Kills the process where it stands. */
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

  /** Settled by nobody: what a process that is over waits for. */
  never<T>(): Promise<T> {
    return new Promise(() => {});
  }
}
