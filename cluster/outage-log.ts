// A log of repeated work that fails while something is unavailable, in few lines.
//   T1. The first failure is logged at once, later ones at most once a minute, with the number of failures since the last line.
//   T2. One line reports the end: once everything that had failed has worked since.
//   T3. A run that began before a run that has already ended reports nothing new: a call that hung for long is not a new failure.

import type { Monotonic } from "./poller.ts";

export interface OutageLogOptions {
  readonly monotonic: Monotonic;
  readonly failed: (detail: string) => void;
  readonly over: (detail: string) => void;
}

const tellAgainMs = 60_000;

export class OutageLog {
  readonly #options: OutageLogOptions;
  /** The work that failed last time. */
  readonly #failing = new Set<string>();
  /** For each kind of work, the number of the latest run that has ended (T3). */
  readonly #ended = new Map<string, number>();
  #runs = 0;
  #failures = 0;
  #untold = 0;
  #toldMs = 0;

  constructor(options: OutageLogOptions) {
    this.#options = options;
  }

  /** Runs `work`, called `what` each time. Never rejects. */
  async watch(what: string, work: () => Promise<void>): Promise<void> {
    this.#runs += 1;
    const run = this.#runs;
    try {
      await work();
      if (this.#isNews(what, run)) this.#worked(what);
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      if (this.#isNews(what, run)) this.#failed(what, detail);
    }
  }

  #isNews(what: string, run: number): boolean {
    if ((this.#ended.get(what) ?? 0) > run) return false;
    this.#ended.set(what, run);
    return true;
  }

  #failed(what: string, detail: string): void {
    const { monotonic, failed } = this.#options;
    const nowMs = monotonic.nowMs();
    const isFirst = this.#failing.size === 0;
    this.#failing.add(what);
    this.#failures = isFirst ? 1 : this.#failures + 1;
    this.#untold = isFirst ? 1 : this.#untold + 1;
    if (!isFirst && nowMs - this.#toldMs < tellAgainMs) return;
    failed(
      isFirst ? `${what}: ${detail}` : `${what}: ${detail} (failures since the last line: ${this.#untold})`,
    );
    this.#toldMs = nowMs;
    this.#untold = 0;
  }

  #worked(what: string): void {
    if (!this.#failing.delete(what) || this.#failing.size > 0) return;
    this.#options.over(`failures: ${this.#failures}`);
  }
}
